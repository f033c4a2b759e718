// Browsers start no worker for a page that was opened from a folder, and the site's search is one:
// there its script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      const frame = document.createElement("iframe")
      frame.hidden = true
      document.body.append(frame)
      const inside = frame.contentWindow
      const told = (data) => {
        const event = new MessageEvent("message", { data })
        this.dispatchEvent(event)
        if (this.onmessage) this.onmessage(event)
      }
      inside.postMessage = (data) => setTimeout(told, 0, data)
      inside.importScripts = (...scripts) => scripts.reduce(
        (before, script) => before.then(() => this.load(inside, script)), Promise.resolve())
      this.inside = inside
      this.ready = this.load(inside, new URL(url, location.href).href)
    }
    load(inside, url) {
      return new Promise((done, failed) => {
        const script = inside.document.createElement("script")
        Object.assign(script, { src: url, onload: done, onerror: failed })
        inside.document.body.append(script)
      })
    }
    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new MessageEvent("message", { data })))
    }
    terminate() {
      this.inside.frameElement.remove()
    }
  }
}
