// The slider: moves the budget, and asks the server for the same page with it. Only the latest answer is shown.

const form = document.getElementById("whatif");
const slider = document.getElementById("slider");
const field = document.getElementById("budget");
const present = Number(form.dataset.present);
let asked = 0;
let timer = 0;

function words(perSecond) {
  const shown = (value) => String(Number(value.toPrecision(4)));
  if (perSecond >= 10) return `${shown(perSecond)}/s`;
  if (perSecond * 60 >= 2) return `${shown(perSecond * 60)}/min`;
  if (perSecond * 3600 >= 2) return `${shown(perSecond * 3600)}/h`;
  return `${shown(perSecond * 86400)}/day`;
}

async function ask() {
  const number = ++asked;
  const address = `/whatif?${new URLSearchParams({ budget: field.value })}`;
  const answer = await fetch(address);
  if (number !== asked || !answer.ok) return;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  if (number !== asked) return;
  document.getElementById("answer").replaceChildren(...page.getElementById("answer").childNodes);
  history.replaceState(null, "", address);
}

slider.addEventListener("input", () => {
  field.value = words(present * 2 ** Number(slider.value));
  slider.setAttribute("aria-valuetext", field.value);
  clearTimeout(timer);
  timer = setTimeout(ask, 60);
});
