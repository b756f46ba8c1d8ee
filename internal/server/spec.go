package server

import (
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
)

// spec is the table in the form that huma works with: one operation for each
// route, and openapi.json.
type spec struct {
	api        huma.API
	operations map[string]*operation              // by id
	members    map[*huma.Schema]map[string]string // of each object, by folded name
}

// theSpec is made once: it depends on the table and the structs alone.
var theSpec = sync.OnceValue(newSpec)

// adapter is what huma takes for a router. The server routes by itself, so it
// only keeps what is handed to it.
type adapter struct{ operations map[string]*operation }

// Handle keeps the handler of an operation.
func (a adapter) Handle(op *huma.Operation, handle func(huma.Context)) {
	o := a.operations[op.OperationID]
	o.described, o.handle = op, handle
}

// ServeHTTP is asked by nobody: the server has a mux of its own.
func (adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { unmatched(w, r) }

func newSpec() *spec {
	huma.DefaultArrayNullable = false
	s := &spec{operations: map[string]*operation{}, members: map[*huma.Schema]map[string]string{}}
	s.api = huma.NewAPI(specConfig(), adapter{s.operations})
	registry := s.api.OpenAPI().Components.Schemas
	for _, form := range ownForms {
		registry.RegisterTypeAlias(form.of, form.as)
	}
	for status := range errorWords {
		s.api.OpenAPI().Components.Responses[responseName(status)] = s.failure(status)
	}
	for _, route := range Routes() {
		o := &operation{described: s.describe(route)}
		s.operations[route.ID] = o
		route.handler(s.api, o)
		o.params = s.params(o.described)
	}
	s.describeMounted()
	for _, schema := range registry.Map() {
		settleMembers(schema)
		s.members[schema] = spellings(schema)
	}
	tellDefaults(registry)
	for _, name := range []string{"ErrorModel", "ErrorDetail"} { // the library's own, which no answer has
		delete(registry.Map(), name)
	}
	for _, o := range s.operations {
		s.settleBody(o.described)
		tellEmpty(o.described)
		for _, status := range []string{"200", "304"} {
			answer := o.described.Responses[status]
			if answer == nil {
				continue
			}
			tellHeader(answer, api.DialectHeader)
			if len(o.described.Security) > 0 {
				tellRates(answer)
			}
		}
		if o.described.RequestBody != nil && o.described.RequestBody.Content["application/json"] != nil {
			o.body = s.resolve(o.described.RequestBody.Content["application/json"].Schema)
		}
	}
	for _, id := range []string{"annotateFinding", "createTickets"} { // an empty one is refused
		s.operations[id].described.RequestBody.Required = true
	}
	s.operations["importReports"].described.RequestBody = importBody()
	s.operations["downloadSBOM"].described.Responses["200"].Content = documentContent()
	s.operations["exportFindings"].described.Responses["200"].Content = exportContent()
	s.tellHeaders()
	s.markMembers()
	return s
}

// tellHeaders describes the headers of single operations.
func (s *spec) tellHeaders() {
	for _, id := range hinted {
		tellHeader(s.operations[id].described.Responses["200"], api.FindingsHeader)
	}
	for _, id := range []string{"listDependencies", "listDependencyRepositories"} {
		tellHeader(s.operations[id].described.Responses["200"], api.LicensePolicyHeader)
	}
	for _, id := range []string{"listFindings", "exportFindings"} {
		for _, status := range []string{"200", "304"} {
			if answer := s.operations[id].described.Responses[status]; answer != nil {
				tellHeader(answer, api.ChangesCursorHeader)
			}
		}
	}
	for _, id := range []string{"listFindings", "countFindings", "exportFindings"} {
		tellHeader(s.operations[id].described.Responses["200"], api.ViewProblemHeader)
	}
}

// settleBody says of a JSON body what is taken: no other media type, which the
// library adds for raw bytes, and no body at all unless a member is needed,
// since that is the empty object (semantics §2).
func (s *spec) settleBody(op *huma.Operation) {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return
	}
	body := op.RequestBody.Content["application/json"]
	op.RequestBody.Content = map[string]*huma.MediaType{"application/json": body}
	schema := s.resolve(body.Schema)
	op.RequestBody.Required = len(schema.Required) > 0
}

// tellEmpty says that a parameter may be sent without a value, which is the same
// as not sending it (semantics §2).
func tellEmpty(op *huma.Operation) {
	for _, p := range op.Parameters {
		if p.In == "query" && !p.Required {
			p.Extensions = map[string]any{"allowEmptyValue": true}
		}
	}
}

// tellDefaults says of members what is the case without them, where absent is
// not the same as that value: the library would put a default in their place.
func tellDefaults(registry huma.Registry) {
	registry.Map()["TriageRequest"].Properties["include_historical"].Default = true
}

// settleMembers adds null to the words of members that may be null: in JSON Schema
// a type that admits it does not make an enumeration do so.
func settleMembers(object *huma.Schema) {
	for _, member := range object.Properties {
		if member.Nullable && len(member.Enum) > 0 {
			member.Enum = append(member.Enum, nil)
		}
		member.PatternDescription = "" // its message is made; JSON Schema has no such word
		if member.Items != nil {
			member.Items.PatternDescription = ""
		}
	}
}

func specConfig() huma.Config {
	c := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Redoubt Web API", Version: "1",
				Description: "Findings, projects, dependencies, scans and policies of a code-security platform. Every answer is JSON; every error is a problem document (RFC 9457). " +
					"With `Redoubt-Dialect: hosted`, or a token of that dialect, answers have the shape of the hosted service; what is described here is the contract's. " +
					"What is marked `x-redoubt` is an extension that neither the contract nor the hosted service has. " +
					"A write with an `Idempotency-Key` counts once, however often it is sent; one with `If-Match` is refused once what it is based on has changed.",
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{URL: "/", Description: "This server"}},
			Components: &huma.Components{
				Schemas:   huma.NewMapRegistry(schemaPrefix, schemaName),
				Responses: map[string]*huma.Response{},
				Headers:   sharedHeaders(),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token": {Type: "http", Scheme: "bearer", Description: "An API token of one deployment: Authorization: Bearer TOKEN."},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{hostedAnswer},
	}
	c.AllowAdditionalPropertiesByDefault = true // unknown members are ignored (semantics §2)
	for _, t := range tags {
		c.Tags = append(c.Tags, &huma.Tag{Name: t.name, Description: t.words})
	}
	return c
}

// describe says of a route what its types do not.
func (s *spec) describe(route Route) *huma.Operation {
	w := described[route.ID]
	op := &huma.Operation{
		OperationID: route.ID, Method: route.Method, Path: route.Pattern, Tags: []string{route.Tag},
		Summary: w.summary, Description: w.text,
		MaxBodyBytes: -1, BodyReadTimeout: -1, // the body was read before huma sees it
		Responses: map[string]*huma.Response{},
	}
	if route.Scope == Anyone {
		op.Extensions = map[string]any{"security": []any{}} // says that none is needed; the library leaves an empty list out
	} else {
		op.Security = []map[string][]string{{"token": {}}}
		op.Description += " Scope: " + scopeWords(route) + "."
	}
	for _, part := range pathPart.FindAllStringSubmatch(route.Pattern, -1) {
		about := pathWords[part[1]]
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: part[1], In: "path", Required: true, Description: about.text, Example: about.example,
			Schema: &huma.Schema{Type: huma.TypeString},
		})
	}
	for _, status := range failures(route) {
		op.Responses[strconv.Itoa(status)] = failing(status)
	}
	return op
}

var pathPart = regexp.MustCompile(`\{(\w+)\}`)

func scopeWords(r Route) string {
	text := "`web_api`"
	if r.Scope == Upload {
		text = "`ci` or `web_api`"
	}
	if r.Writes {
		text += ", not `read_only`"
	}
	return text
}

// failures lists the statuses besides 200 that a route may answer.
func failures(r Route) []int {
	list := []int{http.StatusBadRequest, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if r.Scope != Anyone {
		list = append(list, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	} else if pathPart.MatchString(r.Pattern) {
		list = append(list, http.StatusForbidden)
	}
	if pathPart.MatchString(r.Pattern) {
		list = append(list, http.StatusNotFound)
	}
	if takesBody(r) {
		list = append(list, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType)
	}
	if r.Writes {
		list = append(list, http.StatusConflict)
	}
	return list
}

// bodiless are the routes that write by a method that has a body elsewhere, and take none.
var bodiless = []string{"testConnection", "makeWebhooks", "cancelRun", "retryRun", "withdrawException", "withdrawFindingComment", "testNotificationRule", "rotateNotificationSecret", "resendNotification"}

// takesBody reports whether a route reads a body.
func takesBody(r Route) bool {
	if slices.Contains(bodiless, r.ID) {
		return false
	}
	return r.Method == http.MethodPost || r.Method == http.MethodPut || r.Method == http.MethodPatch || r.ID == "removeProjectTags"
}

// responseName names an error among the components, as NotFound.
func responseName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

// failing refers to an error among the components.
func failing(status int) *huma.Response {
	return &huma.Response{Ref: "#/components/responses/" + responseName(status)}
}

// fails describes an error that operations of its kind do not answer.
func (o *operation) fails(status int) {
	o.described.Responses[strconv.Itoa(status)] = failing(status)
}

// mayConflict is a handler of a read whose question may not fit what there is.
func mayConflict(h handler) handler {
	return func(a huma.API, o *operation) {
		o.fails(http.StatusConflict)
		h(a, o)
	}
}

// failure describes an error that many operations answer.
func (s *spec) failure(status int) *huma.Response {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.Problem](), true, "")
	out := &huma.Response{
		Description: errorWords[status],
		Content:     map[string]*huma.MediaType{problemType: {Schema: schema}},
		Headers:     map[string]*huma.Param{"X-Request-Id": textHeader("Names the request in the server's log.")},
	}
	tellHeader(out, api.DialectHeader)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		out.Headers["Retry-After"] = textHeader("Seconds to wait.")
	}
	if status == http.StatusTooManyRequests {
		tellRates(out)
	}
	if status == http.StatusUnauthorized {
		out.Headers["WWW-Authenticate"] = textHeader("How to authenticate: Bearer.")
	}
	return out
}

// rates are the headers that tell a token how much it may ask for; every answer
// to one has them, unless the server sets no limit.
var rates = map[string]string{
	"RateLimit-Limit":     "Requests that the token may make at once.",
	"RateLimit-Remaining": "Requests that are left of them.",
	"RateLimit-Reset":     "Seconds until all of them are there again.",
}

// hinted are the operations whose answers have a list of findings.
var hinted = []string{"listFindings", "listFindingChanges", "listSecrets", "searchIssues", "listVulns"}

// sharedHeaders are those that stand among the components.
func sharedHeaders() map[string]*huma.Param {
	out := map[string]*huma.Param{
		api.DialectHeader:       textHeader("The dialect of the answer: contract or hosted."),
		api.FindingsHeader:      textHeader(`How many findings are in the answer, and where: count=100, at="sastFindings.findings".`),
		api.LicensePolicyHeader: textHeader("none where the hosted dialect filters by a license policy: there is none, so it blocks no dependency."),
		api.ChangesCursorHeader: textHeader("The cursor of findings/changes with which that tells all that changed since this answer was made (an extension). A token that is bound to projects gets none."),
		api.ViewProblemHeader:   textHeader("What the saved view that the request names asks for and is not there any more, in quotes: \"there is no project acme/old any more\". That part of it selects nothing."),
	}
	for name, text := range rates {
		out[name] = textHeader(text)
	}
	return out
}

// tellRates describes them, by what stands among the components.
func tellRates(answer *huma.Response) {
	for name := range rates {
		tellHeader(answer, name)
	}
}

// tellHeader describes a header by what stands among the components.
func tellHeader(answer *huma.Response, name string) {
	if answer.Headers == nil {
		answer.Headers = map[string]*huma.Param{}
	}
	answer.Headers[name] = &huma.Param{Ref: "#/components/headers/" + name}
}

func textHeader(text string) *huma.Param {
	return &huma.Param{Description: text, Schema: &huma.Schema{Type: huma.TypeString}}
}

// resolve follows references.
func (s *spec) resolve(schema *huma.Schema) *huma.Schema {
	for schema != nil && schema.Ref != "" {
		schema = s.api.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
	}
	return schema
}

// params lists the query parameters of an operation.
func (s *spec) params(op *huma.Operation) map[string]param {
	out := map[string]param{}
	for _, p := range op.Parameters {
		if p.In == "query" {
			out[p.Name] = param{list: p.Schema.Type == huma.TypeArray}
		}
	}
	return out
}

// spellings lists the members of an object by folded name.
func spellings(object *huma.Schema) map[string]string {
	out := map[string]string{}
	for name := range object.Properties {
		if other, taken := out[fold(name)]; taken {
			panic("members " + name + " and " + other + " of one object are the same in another spelling")
		}
		out[fold(name)] = name
	}
	return out
}

// OpenAPI returns openapi.json: OpenAPI 3.1 of every route. It is made once;
// nobody may change it.
var OpenAPI = sync.OnceValues(func() ([]byte, error) {
	return publish(theSpec().api.OpenAPI())
})
