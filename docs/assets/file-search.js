// Pages opened from a folder may not start workers, and the search is one. There its script runs in a hidden frame
// instead: what is posted goes to and fro just as well. Over http nothing here is used.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      this.waiting = [];
      const frame = document.createElement("iframe");
      frame.hidden = true;
      const begin = () => {
        const inside = frame.contentWindow;
        const script = inside.document.createElement("script");
        inside.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
        inside.importScripts = () => undefined;
        inside.__index = window.__index;
        script.src = new URL(address, document.baseURI);
        script.onload = () => {
          this.inside = inside;
          this.waiting.splice(0).forEach((data) => this.postMessage(data));
        };
        inside.document.body.append(script);
      };
      if (document.body) {
        document.body.append(frame);
        begin();
      } else {
        addEventListener("DOMContentLoaded", () => { document.body.append(frame); begin(); });
      }
    }
    postMessage(data) {
      if (this.inside) this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data }));
      else this.waiting.push(data);
    }
    set onmessage(listener) { this.addEventListener("message", listener); }
    terminate() {}
  };
}
