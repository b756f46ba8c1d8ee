// Passkeys: request a credential from the browser and submit it with the form.
(() => {
  "use strict";
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) => buffer && btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
  const known = (list) => (list ?? []).map((c) => ({ ...c, id: bytes(c.id) }));

  const make = async (o) => {
    o.user.id = bytes(o.user.id);
    o.excludeCredentials = known(o.excludeCredentials);
    const made = await navigator.credentials.create({ publicKey: o });
    return [made, { attestationObject: text(made.response.attestationObject), transports: made.response.getTransports?.() ?? [] }];
  };
  const use = async (o) => {
    o.allowCredentials = known(o.allowCredentials);
    const used = await navigator.credentials.get({ publicKey: o });
    const { authenticatorData, signature, userHandle } = used.response;
    return [used, { authenticatorData: text(authenticatorData), signature: text(signature), userHandle: text(userHandle) || undefined }];
  };
  const ask = async (form) => {
    const o = JSON.parse(form.dataset.passkey);
    o.challenge = bytes(o.challenge);
    const [key, said] = await (o.user ? make(o) : use(o));
    said.clientDataJSON = text(key.response.clientDataJSON);
    return JSON.stringify({ id: key.id, rawId: text(key.rawId), type: key.type, response: said, clientExtensionResults: {} });
  };

  const faults = {
    NotAllowedError: "No passkey was used: the request timed out or was canceled, or no passkey matches.",
    InvalidStateError: "This device already has a passkey of your account.",
    SecurityError: "Passkeys work only at the server's public address. Open it and try again.",
  };
  for (const form of document.querySelectorAll("form[data-passkey]")) {
    const button = form.querySelector("[data-ask]"), said = form.querySelector("[role=alert]");
    if (!window.PublicKeyCredential) {
      said.textContent = "This browser does not support passkeys.";
      said.hidden = false;
      continue;
    }
    button.hidden = false;
    button.addEventListener("click", async () => {
      if (!form.reportValidity()) return;
      said.hidden = true;
      try {
        form.elements.answer.value = await ask(form);
        form.requestSubmit();
      } catch (e) {
        said.textContent = faults[e.name] ?? "The passkey could not be used: " + e.message;
        said.dataset.say = e.name;
        said.hidden = false;
      }
    });
  }
})();
