package mcp

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Path is the address of the server for assistants.
const Path = oauth.AssistantPath

// maxRequest limits the bytes of a request.
const maxRequest = 1 << 20

// HTTPConfig is the configuration of HTTP.
type HTTPConfig struct {
	// API returns the handler of the Web API, which is called without a network.
	API func() http.Handler
	// PublicURL is the public address of the server, or "" if it is not configured.
	PublicURL string
	// Challenge returns the WWW-Authenticate header for requests without a valid token.
	Challenge func(*http.Request) string
	Version   string
	Clock     func() time.Time
}

// HTTP serves assistants over HTTP. It is stateless except for changes that wait for their
// confirmation.
type HTTP struct {
	HTTPConfig
	changes *Changes
	handler http.Handler
}

// NewHTTP returns a handler of assistants.
func NewHTTP(c HTTPConfig) *HTTP {
	h := &HTTP{HTTPConfig: c, changes: NewChanges(c.Clock)}
	h.handler = sdk.NewStreamableHTTPHandler(h.serverOf, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxRequest,
		DisableLocalhostProtection: true, // it rejects local proxies; see foreign
	})
	return h
}

// Routes returns the route table. The operations of the Web API that the tools call check the
// permissions again.
func (h *HTTP) Routes() []httpx.Mounted {
	return []httpx.Mounted{{
		Route:     httpx.Row(http.MethodPost, Path, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
		Challenge: h.Challenge, Handle: h.handle,
	}}
}

type callerKey struct{}

// clientRequest is the caller and the request of an assistant.
type clientRequest struct {
	caller  auth.Caller
	request *http.Request
}

func (h *HTTP) handle(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	if h.foreign(r) {
		return errForeign
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxRequest)
	if isBatch(r) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, err := io.WriteString(w, batchRefused)
		return err
	}
	h.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, clientRequest{caller, r})))
	return nil
}

// batchRefused is the response to a batch of calls. Protocol versions since 2025-06-18 have no
// batches, and a batch would count as one request for rate limits. It is an invalid request in
// JSON-RPC, without an id.
const batchRefused = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"batches are not supported: ` +
	`send each message in a separate request"}}` + "\n"

// isBatch reports whether the body is a JSON array. The body can still be read as a whole.
func isBatch(r *http.Request) bool {
	body := bufio.NewReader(r.Body)
	r.Body = struct {
		io.Reader
		io.Closer
	}{body, r.Body}
	for {
		b, err := body.ReadByte()
		switch {
		case err != nil:
			return false // the next reader gets the error
		case b == ' ' || b == '\t' || b == '\r' || b == '\n':
			continue
		}
		_ = body.UnreadByte() // cannot fail after ReadByte
		return b == '['
	}
}

// errForeign is the error for requests of pages of other sites.
var errForeign = &httpx.ForbiddenError{Text: "The Origin header contains another site than this server. For " +
	"assistants in browsers, set --public-url to the address that they use."}

// foreign reports whether a page of another site sent the request from a browser. Programs send no
// Origin header. If no public address is configured, the host name is no proof, because its owner
// can point it to this server. IP addresses, localhost and a TLS certificate for the name do.
func (h *HTTP) foreign(r *http.Request) bool {
	sent := r.Header.Get("Origin")
	if sent == "" {
		return false
	}
	origin, own := httpx.OriginOf(r), ""
	u, err := url.Parse(origin.Base)
	if err == nil {
		own = u.Scheme + "://" + u.Host
	}
	if err != nil || !strings.EqualFold(sent, own) {
		return true
	}
	_, notNumbers := netip.ParseAddr(u.Hostname())
	return h.PublicURL == "" && !origin.Secure && notNumbers != nil && !strings.EqualFold(u.Hostname(), "localhost")
}

// serverOf returns a server for the caller of a request.
func (h *HTTP) serverOf(r *http.Request) *sdk.Server {
	from, ok := r.Context().Value(callerKey{}).(clientRequest)
	if !ok {
		return nil
	}
	return New(Config{
		Client: from.client(h.API()), Deployment: from.caller.Deployment.Slug,
		Caller:   strconv.FormatInt(from.caller.Deployment.ID, 10) + "/" + from.caller.Token.PublicID,
		MayWrite: from.caller.CanWrite() && from.caller.Has(model.RoleTriager), Changes: h.changes, Version: h.Version,
	})
}

// client returns a client that calls the Web API as the caller.
func (a clientRequest) client(handler http.Handler) *api.Client {
	return &api.Client{
		BaseURL: httpx.OriginOf(a.request).Base, Token: httpx.Bearer(a.request),
		Retries: -1, UserAgent: a.request.UserAgent(),
		HTTP: &http.Client{Transport: httpx.InProcess{Handler: handler, Prepare: a.as}},
	}
}

// passedOn are the headers with the origin of a request.
var passedOn = []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// as returns an in-process request with the origin of the assistant's request.
func (a clientRequest) as(r *http.Request) *http.Request {
	r = r.WithContext(httpx.WithAddressed(r.Context(), Path))
	r.Host, r.RemoteAddr, r.TLS = a.request.Host, a.request.RemoteAddr, a.request.TLS
	for _, name := range passedOn {
		if v := a.request.Header.Values(name); len(v) > 0 {
			r.Header[name] = v
		}
	}
	return r
}
