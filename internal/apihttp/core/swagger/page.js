// Starts the documentation page on this server's own description of itself.
window.addEventListener("load", () => {
  window.SwaggerUIBundle({
    url: "/api/v1/openapi.json",
    dom_id: "#swagger-ui",
    deepLinking: true,
    validatorUrl: null,
    persistAuthorization: false,
  });
});
