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

// Path is where the server answers assistants.
const Path = oauth.AssistantPath

// maxRequest bounds what an assistant may send at once, in bytes.
const maxRequest = 1 << 20

// HTTPConfig is what the operation of the server is made of.
type HTTPConfig struct {
	// API answers the Web API: requests go to it without a network.
	API func() http.Handler
	// PublicURL is how others reach the server; empty where nobody said.
	PublicURL string
	// Challenge tells who brings no valid token where to get one.
	Challenge func(*http.Request) string
	Version   string
	Clock     func() time.Time
}

// HTTP answers assistants over HTTP. Nothing is kept between two requests but
// what waits to be confirmed.
type HTTP struct {
	HTTPConfig
	changes *Changes
	handler http.Handler
}

// NewHTTP makes it.
func NewHTTP(c HTTPConfig) *HTTP {
	h := &HTTP{HTTPConfig: c, changes: NewChanges(c.Clock)}
	h.handler = sdk.NewStreamableHTTPHandler(h.serverOf, &sdk.StreamableHTTPOptions{
		Stateless: true, JSONResponse: true, MaxRequestBodyBytes: maxRequest,
		DisableLocalhostProtection: true, // it refuses proxies of the same machine; foreign says what is refused here
	})
	return h
}

// Routes returns the table. What a caller may see and do is checked again by the
// operations of the Web API that the tools call.
func (h *HTTP) Routes() []httpx.Mounted {
	return []httpx.Mounted{{
		Route:     httpx.Row(http.MethodPost, Path, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
		Challenge: h.Challenge, Handle: h.handle,
	}}
}

type callerKey struct{}

// asked is who asks, and how the request came.
type asked struct {
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
	h.handler.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), callerKey{}, asked{caller, r})))
	return nil
}

// batchRefused is the answer to a list of calls: no version of the protocol since
// 2025-06-18 has any, and a list would be one request to the token's rate whatever
// it holds. It is an invalid request by JSON-RPC, to no id in particular.
const batchRefused = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"this server takes no batches: ` +
	`send each message in a request of its own"}}` + "\n"

// isBatch reports whether the body is a JSON list. What was read of it can be read
// again.
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
			return false // who reads on is told
		case b == ' ' || b == '\t' || b == '\r' || b == '\n':
			continue
		}
		_ = body.UnreadByte() // of the byte that was read just now
		return b == '['
	}
}

// errForeign is the answer to pages of other sites.
var errForeign = &httpx.ForbiddenError{Text: "The Origin header names another site than this server. For assistants " +
	"in browsers, set --public-url to the address that they use."}

// foreign reports whether a page in a browser sent the request that is not of
// this server. Programs send no Origin. Where no public address is set, the name
// that the page used proves nothing: whoever owns a name can point it here. An
// address of numbers, localhost, and a certificate for the name do.
func (h *HTTP) foreign(r *http.Request) bool {
	sent := r.Header.Get("Origin")
	if sent == "" {
		return false
	}
	origin, here := httpx.OriginOf(r), ""
	u, err := url.Parse(origin.Base)
	if err == nil {
		here = u.Scheme + "://" + u.Host
	}
	if err != nil || !strings.EqualFold(sent, here) {
		return true
	}
	_, notNumbers := netip.ParseAddr(u.Hostname())
	return h.PublicURL == "" && !origin.Secure && notNumbers != nil && !strings.EqualFold(u.Hostname(), "localhost")
}

// serverOf makes the server of a request's caller.
func (h *HTTP) serverOf(r *http.Request) *sdk.Server {
	from, ok := r.Context().Value(callerKey{}).(asked)
	if !ok {
		return nil
	}
	return New(Config{
		Client: from.client(h.API()), Deployment: from.caller.Deployment.Slug,
		Caller:   strconv.FormatInt(from.caller.Deployment.ID, 10) + "/" + from.caller.Token.PublicID,
		MayWrite: from.caller.CanWrite() && from.caller.Has(model.RoleTriager), Changes: h.changes, Version: h.Version,
	})
}

// client calls the Web API as the caller does.
func (a asked) client(handler http.Handler) *api.Client {
	return &api.Client{
		BaseURL: httpx.OriginOf(a.request).Base, Token: httpx.Bearer(a.request),
		Retries: -1, UserAgent: a.request.UserAgent(),
		HTTP: &http.Client{Transport: httpx.InProcess{Handler: handler, Prepare: a.as}},
	}
}

// passedOn are the headers that tell where a request came from.
var passedOn = []string{"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto"}

// as returns a request of the same process as if it came from where the assistant's did.
func (a asked) as(r *http.Request) *http.Request {
	r = r.WithContext(httpx.WithAddressed(r.Context(), Path))
	r.Host, r.RemoteAddr, r.TLS = a.request.Host, a.request.RemoteAddr, a.request.TLS
	for _, name := range passedOn {
		if v := a.request.Header.Values(name); len(v) > 0 {
			r.Header[name] = v
		}
	}
	return r
}
