// Uploads with progress and drag and drop. Without scripts the form is submitted normally.
(() => {
  "use strict";
  const form = document.querySelector("[data-upload]");
  if (!form) return;
  const drop = form.querySelector("[data-drop]"), files = form.elements.file, stop = form.querySelector("[data-stop]");
  const progress = form.querySelector("[data-progress]"), bar = progress.querySelector("progress"), said = progress.querySelector("p");
  const fault = document.querySelector("#uploadfault");
  form.querySelector("[data-droppable]").hidden = false;

  const sizes = new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 });
  const megabytes = (n) => `${sizes.format(n / 1048576)} MB`;
  // The error page of a proxy is not shown.
  const refusals = {
    413: "Upload too large for the server or a proxy (413). Nothing was imported. Upload fewer files, or use redoubt ci.",
    403: "Upload not allowed (403). Nothing was imported.",
    429: "Too many requests (429). Nothing was imported. Try again later.",
    502: "The server is unreachable (502). Check Scans for the upload, then try again.",
    503: "The server is temporarily unavailable (503). Check Scans for the upload, then try again.",
    504: "The server timed out (504). Check Scans for the upload, then try again.",
  };
  const refused = (status) => complain(refusals[status] || `The server returned ${status}. Check Scans for the upload, then try again.`);
  const complain = (text) => {
    const box = document.createElement("p");
    box.className = "say bad";
    box.textContent = text;
    fault.replaceChildren(box);
  };
  const rest = () => {
    progress.hidden = stop.hidden = true;
    form.removeAttribute("aria-busy");
    form.removeAttribute("data-sent");
  };

  for (const kind of ["dragover", "dragenter"]) drop.addEventListener(kind, (e) => { e.preventDefault(); drop.classList.add("over"); });
  drop.addEventListener("dragleave", () => drop.classList.remove("over"));
  drop.addEventListener("drop", (e) => {
    e.preventDefault();
    drop.classList.remove("over");
    if (!e.dataTransfer.files.length) return complain("No files found. Drop files, not folders or text.");
    files.files = e.dataTransfer.files;
  });

  const send = () => {
    const request = new XMLHttpRequest();
    request.open("POST", form.action);
    request.setRequestHeader("HX-Request", "true");
    request.setRequestHeader("HX-Current-URL", location.href);
    request.upload.addEventListener("progress", (e) => {
      bar.max = e.total;
      bar.value = e.loaded;
      said.textContent = `Sent ${megabytes(e.loaded)} of ${megabytes(e.total)}`;
    });
    request.upload.addEventListener("load", () => {
      bar.removeAttribute("value");
      stop.hidden = true;
      said.textContent = "Sent. Processing on the server.";
    });
    request.addEventListener("load", () => {
      const elsewhere = request.getResponseHeader("HX-Redirect");
      if (elsewhere) { location.href = elsewhere; return; }
      if (request.status === 200) { location.href = request.responseURL; return; }
      rest();
      const part = document.createElement("template");
      part.innerHTML = request.responseText;
      const own = part.content.querySelector(".say, .fault");
      if (!own) { refused(request.status); return; }
      fault.replaceChildren(own);
      for (const hint of fault.querySelectorAll(".hint")) hint.textContent = "Your input is preserved.";
      fault.scrollIntoView({ block: "nearest" });
    });
    request.addEventListener("abort", () => { rest(); complain("Stopped. Nothing was imported."); });
    request.addEventListener("error", () => { rest(); complain("The connection failed, or the upload is too large. Check Scans for the upload, then try again."); });
    stop.onclick = () => request.abort();
    const body = new FormData(form);
    if (files.files.length === 0) body.delete("file");
    request.send(body);
  };

  form.addEventListener("submit", (e) => {
    e.preventDefault();
    if (form.hasAttribute("aria-busy")) return;
    form.setAttribute("aria-busy", "true");
    fault.replaceChildren();
    progress.hidden = stop.hidden = false;
    bar.value = 0;
    said.textContent = "Sending";
    // An expired session is detected before anything large is sent.
    fetch(form.action, { headers: { "HX-Request": "true", "HX-Current-URL": location.href } }).then((answer) => {
      const elsewhere = answer.headers.get("HX-Redirect");
      if (elsewhere) { location.href = elsewhere; return; }
      if (!answer.ok) { rest(); refused(answer.status); return; }
      send();
    }, () => { rest(); complain(navigator.onLine ? "No response from the server. Nothing was sent." : "You are offline. Nothing was sent. Try again when you are online."); });
  });
})();
