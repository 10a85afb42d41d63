// Measures what a page shows: text that is cut off, text over text, and colours that are hard to read.
() => {
  const SLACK = 1; // pixels that rounding may take
  const clips = (style) => ["hidden", "clip"].includes(style.overflowX) || ["hidden", "clip"].includes(style.overflowY);
  const scrolls = (style) => /auto|scroll/.test(style.overflowX + style.overflowY);
  const said = (text) => text.trim().replace(/\s+/g, " ").slice(0, 60);

  function seen(element) {
    return element.checkVisibility({ checkOpacity: true, checkVisibilityCSS: true })
      && !element.closest(".unseen, .skip, option, datalist, title, desc, script, style, noscript");
  }

  function texts() {
    const found = [];
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
      const node = walker.currentNode;
      if (!node.data.trim() || !seen(node.parentElement)) continue;
      const range = document.createRange();
      range.selectNodeContents(node);
      const boxes = [...range.getClientRects()].filter((box) => box.width > 0.5 && box.height > 0.5);
      if (boxes.length) found.push({ node, parent: node.parentElement, boxes, text: said(node.data) });
    }
    return found;
  }

  // What is left of a box inside everything around it that clips or scrolls.
  function visible(box, element) {
    let { left, top, right, bottom } = box;
    for (let each = element; each && each !== document.body; each = each.parentElement) {
      const style = getComputedStyle(each);
      if (each instanceof SVGElement && each.tagName !== "svg") continue;
      if (!clips(style) && !scrolls(style)) continue;
      const around = each.getBoundingClientRect();
      left = Math.max(left, around.left); right = Math.min(right, around.right);
      top = Math.max(top, around.top); bottom = Math.min(bottom, around.bottom);
    }
    return right > left && bottom > top ? { left, top, right, bottom } : null;
  }

  function cut(found) {
    const complaints = [];
    for (const { parent, boxes, text } of found) {
      for (let each = parent; each && each !== document.body; each = each.parentElement) {
        if (each instanceof SVGElement && each.tagName !== "svg") continue;
        const style = getComputedStyle(each);
        if (scrolls(style)) break; // the reader can move what is inside
        if (!clips(style) && each.tagName !== "svg") continue;
        const around = each.getBoundingClientRect();
        const out = boxes.some((box) => box.left < around.left - SLACK || box.right > around.right + SLACK
          || box.top < around.top - 2 || box.bottom > around.bottom + 2);
        if (out) complaints.push(`cut off by <${each.tagName.toLowerCase()} class="${each.getAttribute("class") || ""}">: ${text}`);
      }
    }
    return complaints;
  }

  // What fields show: the words of an empty one, the choice of a list.
  function cutInFields() {
    const pen = document.createElement("canvas").getContext("2d");
    const complaints = [];
    for (const field of document.querySelectorAll("input, select, button")) {
      if (!seen(field)) continue;
      const style = getComputedStyle(field);
      pen.font = style.font;
      const room = field.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
      let words = "", arrow = 0;
      if (field.tagName === "SELECT") { words = field.selectedOptions[0]?.text || ""; arrow = 12; }
      else if (field.tagName === "BUTTON") words = field.innerText;
      else if (field.type !== "file" && !field.value) words = field.placeholder;
      if (pen.measureText(words).width + arrow > room + SLACK) complaints.push(`cut off in a field: ${said(words)}`);
    }
    return complaints;
  }

  function overlapping(found) {
    const boxes = [];
    for (const { node, parent, boxes: all, text } of found) {
      for (const each of all) {
        const box = visible(each, parent);
        if (box) boxes.push({ ...box, node, text });
      }
    }
    boxes.sort((a, b) => a.left - b.left);
    const complaints = [];
    for (let i = 0; i < boxes.length; i++) {
      for (let j = i + 1; j < boxes.length && boxes[j].left < boxes[i].right - SLACK; j++) {
        const [a, b] = [boxes[i], boxes[j]];
        if (a.node === b.node) continue;
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        // Lines set close share the room above their letters; letters that meet share more.
        if (wide > SLACK && high > 0.3 * Math.min(a.bottom - a.top, b.bottom - b.top)) {
          complaints.push(`on top of each other: ${a.text} | ${b.text}`);
        }
      }
    }
    return complaints;
  }

  const channels = (colour) => (colour.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const over = ([r, g, b, a = 1], below) => [r, g, b].map((each, k) => each * a + below[k] * (1 - a));
  function paper(element) {
    const stack = [];
    for (let each = element; each; each = each.parentElement) {
      const colour = channels(getComputedStyle(each).backgroundColor);
      stack.push(colour);
      if ((colour[3] ?? 1) === 1) break;
    }
    return stack.reverse().reduce((below, colour) => over(colour, below), [255, 255, 255]);
  }
  function light(colour) {
    const [r, g, b] = colour.map((each) => {
      const share = each / 255;
      return share <= 0.03928 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }
  // WCAG 2.2, 1.4.3: 4.5 to 1, of large text 3 to 1.
  function pale(found) {
    const complaints = new Set();
    for (const { parent, text } of found) {
      const style = getComputedStyle(parent);
      const below = paper(parent);
      const ink = over(channels(parent instanceof SVGElement ? style.fill : style.color), below);
      const [low, high] = [light(ink), light(below)].sort((a, b) => a - b);
      const size = parseFloat(style.fontSize);
      const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
      const contrast = (high + 0.05) / (low + 0.05);
      if (contrast < least - 0.01) complaints.add(`contrast ${contrast.toFixed(2)}: ${text}`);
    }
    return [...complaints];
  }

  const found = texts();
  const root = document.documentElement;
  const wider = root.scrollWidth - root.clientWidth;
  return [
    ...(wider > 0 ? [`the page is ${wider} pixels wider than the window`] : []),
    ...cut(found), ...cutInFields(), ...overlapping(found), ...pale(found),
  ];
}
