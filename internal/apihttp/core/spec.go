package core

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
	"github.com/redoubt/redoubt/internal/httpx"
)

// Spec contains the operations of a table as huma operations, and openapi.json.
type Spec struct {
	api        huma.API
	operations map[string]*operation              // by id
	members    map[*huma.Schema]map[string]string // of each object, by folded name
	Published  func() ([]byte, error)             // returns openapi.json, which is generated once
	Table
}

// Table lists the contents of the Web API.
type Table struct {
	Routes      []Route
	Tags        []Tag
	Paths       map[string]PathWord // path parameters by name
	Differences []Difference        // of the hosted dialect
}

// Tag is a group of operations in openapi.json.
type Tag struct{ Name, Text string }

// RouteDoc documents an operation with a short title and a description.
type RouteDoc struct{ Summary, Text string }

// PathWord documents a path parameter.
type PathWord struct{ Text, Example string }

// adapter implements the router interface of huma. It only stores the handlers, because the server
// routes requests itself.
type adapter struct{ operations map[string]*operation }

// Handle stores the handler of an operation.
func (a adapter) Handle(op *huma.Operation, handle func(huma.Context)) {
	o := a.operations[op.OperationID]
	o.described, o.handle = op, handle
}

// ServeHTTP is never called: the server has its own mux.
func (adapter) ServeHTTP(w http.ResponseWriter, r *http.Request) { unmatched(w, r) }

// NewSpec creates the operations of a table and openapi.json.
func NewSpec(t Table) *Spec {
	huma.DefaultArrayNullable = false
	s := &Spec{operations: map[string]*operation{}, members: map[*huma.Schema]map[string]string{}, Table: t}
	s.Published = sync.OnceValues(func() ([]byte, error) { return publish(s.api.OpenAPI()) })
	s.api = huma.NewAPI(s.config(), adapter{s.operations})
	registry := s.api.OpenAPI().Components.Schemas
	register(registry)
	for header, text := range headerWords {
		s.api.OpenAPI().Components.Headers[header] = textHeader(text)
	}
	for status := range errorWords {
		s.api.OpenAPI().Components.Responses[responseName(status)] = s.failure(status)
	}
	for _, route := range s.Routes {
		o := &operation{described: s.describe(route), params: map[string]bool{}}
		s.operations[route.ID] = o
		route.handler(s.api, o)
		if o.described.RequestBody != nil || o.files != nil {
			o.fails(http.StatusRequestEntityTooLarge)
			o.fails(http.StatusUnsupportedMediaType)
		}
	}
	s.describeMounted()
	for _, schema := range registry.Map() {
		s.finishSchema(schema)
	}
	for _, name := range []string{"ErrorModel", "ErrorDetail"} { // types of the library that no response has
		delete(registry.Map(), name)
	}
	for _, o := range s.operations {
		s.finish(o)
	}
	for _, o := range s.operations {
		if o.bodyNeeded {
			o.described.RequestBody.Required = true
		}
		if o.files != nil {
			o.described.RequestBody = o.files
		}
		if o.content != nil {
			o.described.Responses["200"].Content = o.content
		}
	}
	return s
}

// NeedingBody returns a handler that rejects an empty body.
func NeedingBody(h Handler) Handler {
	return func(a huma.API, o *operation) {
		o.bodyNeeded = true
		h(a, o)
	}
}

// Defaulting documents that the member of a named schema defaults to true. It changes only
// openapi.json: with a default in the schema, the library would also replace null.
func Defaulting(schema, member string, h Handler) Handler {
	return func(a huma.API, o *operation) {
		h(a, o)
		a.OpenAPI().Components.Schemas.Map()[schema].Properties[member].Default = true
	}
}

// TakingFiles returns a handler whose body consists of files.
func TakingFiles(body *huma.RequestBody, h Handler) Handler {
	return func(a huma.API, o *operation) {
		o.files = body
		h(a, o)
	}
}

// AnsweringFile returns a handler whose response is a file of one of the media types.
func AnsweringFile(mediaTypes []string, h Handler) Handler {
	return func(a huma.API, o *operation) {
		o.content = map[string]*huma.MediaType{}
		for _, name := range mediaTypes {
			o.content[name] = fileContent(name)
		}
		h(a, o)
	}
}

// finish adds documentation that the types of a handler do not contain.
func (s *Spec) finish(o *operation) {
	op := o.described
	for _, p := range op.Parameters {
		if p.In == "query" {
			o.params[p.Name] = p.Schema.Type == huma.TypeArray
			if !p.Required { // an empty value counts as absent
				p.Extensions = map[string]any{"allowEmptyValue": true}
			}
		}
		nameWords(p.Schema)
		markByWords(p.Description, extensionWords, &p.Extensions)
		markByWords(p.Description, severalWords, &p.Schema.Extensions)
	}
	if op.RequestBody != nil && op.RequestBody.Content["application/json"] != nil {
		body := op.RequestBody.Content["application/json"]
		// This drops the media type that the library adds for raw bytes.
		op.RequestBody.Content = map[string]*huma.MediaType{"application/json": body}
		o.body = s.Resolve(body.Schema)
		op.RequestBody.Required = len(o.body.Required) > 0 // an absent body is the empty object
	}
	for _, status := range []string{"200", "304"} {
		answer := op.Responses[status]
		if answer == nil {
			continue
		}
		refer(answer, api.DialectHeader)
		if len(op.Security) > 0 {
			refer(answer, rates...)
		}
		for header, operations := range answerHeaders {
			if slices.Contains(operations, op.OperationID) && (status == "200" || header == api.ChangesCursorHeader) {
				refer(answer, header)
			}
		}
	}
}

// answerHeaders are the response headers of some operations.
var answerHeaders = map[string][]string{
	api.FindingsHeader:      {"listFindings", "listFindingChanges", "listSecrets", "searchIssues", "listVulns"},
	api.LicensePolicyHeader: {"listDependencies", "listDependencyRepositories"},
	api.ChangesCursorHeader: {"listFindings", "exportFindings"},
	api.ViewProblemHeader:   {"listFindings", "countFindings", "exportFindings"},
}

// finishSchema names enumerations, marks extensions, and adds null to the values of nullable
// enumerations. In JSON Schema, a nullable type alone does not permit null in an enumeration.
func (s *Spec) finishSchema(object *huma.Schema) {
	s.members[object] = spellings(object)
	for _, member := range object.Properties {
		nameWords(member)
		markByWords(member.Description, extensionWords, &member.Extensions)
		if member.Nullable && len(member.Enum) > 0 {
			member.Enum = append(member.Enum, nil)
		}
		member.PatternDescription = "" // used in messages only; not a keyword of JSON Schema
		if member.Items != nil {
			member.Items.PatternDescription = ""
		}
	}
}

func (s *Spec) config() huma.Config {
	c := huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Redoubt Web API", Version: "1",
				Description: "Findings, projects, dependencies, scans and policies of a code-security platform. Every " +
					"response is JSON; every error is a problem document (RFC 9457). " +
					"With `Redoubt-Dialect: hosted`, or a token of that dialect, responses have the format of the " +
					"hosted service; this document describes the contract. " +
					"`x-redoubt` marks extensions, which neither the contract nor the hosted service has. " +
					"A write with an `Idempotency-Key` is applied once, even if it is repeated. " +
					"A write with `If-Match` is rejected if its object has changed.",
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Servers: []*huma.Server{{URL: "/", Description: "This server"}},
			Components: &huma.Components{
				Schemas:   huma.NewMapRegistry(schemaPrefix, schemaName),
				Responses: map[string]*huma.Response{},
				Headers:   map[string]*huma.Param{},
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"token": {
						Type: "http", Scheme: "bearer", Description: "An API token of one deployment: Authorization: Bearer TOKEN.",
					},
				},
			},
		},
		Formats:       map[string]huma.Format{"application/json": format, "json": format},
		DefaultFormat: "application/json",
		Transformers:  []huma.Transformer{hostedAnswer},
	}
	c.AllowAdditionalPropertiesByDefault = true // unknown members are ignored
	for _, t := range s.Tags {
		c.Tags = append(c.Tags, &huma.Tag{Name: t.Name, Description: t.Text})
	}
	return c
}

// describe documents the parts of a route that its types do not contain.
func (s *Spec) describe(route Route) *huma.Operation {
	op := &huma.Operation{
		OperationID: route.ID, Method: route.Method, Path: route.Pattern, Tags: []string{route.Tag},
		Summary: route.words.Summary, Description: route.words.Text,
		MaxBodyBytes: -1, BodyReadTimeout: -1, // the body is read before huma runs
		Responses: map[string]*huma.Response{},
	}
	if route.Scope == httpx.Anyone {
		op.Extensions = map[string]any{"security": []any{}} // no authentication; the library omits an empty list
	} else {
		op.Security = []map[string][]string{{"token": {}}}
		op.Description += " Scope: " + scopeWords(route) + "."
	}
	for _, part := range pathPart.FindAllStringSubmatch(route.Pattern, -1) {
		about := s.Paths[part[1]]
		op.Parameters = append(op.Parameters, &huma.Param{
			Name: part[1], In: "path", Required: true, Description: about.Text, Example: about.Example,
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
	if r.Scope == httpx.Upload {
		text = "`ci` or `web_api`"
	}
	if r.Writes {
		text += ", not `read_only`"
	}
	return text
}

// failures lists the error statuses of a route.
func failures(r Route) []int {
	list := []int{http.StatusBadRequest, http.StatusInternalServerError, http.StatusServiceUnavailable}
	if r.Scope != httpx.Anyone {
		list = append(list, http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests)
	} else if pathPart.MatchString(r.Pattern) {
		list = append(list, http.StatusForbidden)
	}
	if pathPart.MatchString(r.Pattern) {
		list = append(list, http.StatusNotFound)
	}
	if r.Writes {
		list = append(list, http.StatusConflict)
	}
	return list
}

// responseName returns the component name of an error, for example NotFound.
func responseName(status int) string { return strings.ReplaceAll(http.StatusText(status), " ", "") }

// failing returns a reference to an error in the components.
func failing(status int) *huma.Response {
	return &huma.Response{Ref: "#/components/responses/" + responseName(status)}
}

// fails documents an additional error of an operation.
func (o *operation) fails(status int) {
	o.described.Responses[strconv.Itoa(status)] = failing(status)
}

// MayConflict returns a read handler that may respond with a conflict.
func MayConflict(h Handler) Handler {
	return func(a huma.API, o *operation) {
		o.fails(http.StatusConflict)
		h(a, o)
	}
}

// failure documents an error that many operations return.
func (s *Spec) failure(status int) *huma.Response {
	schema := s.api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[api.Problem](), true, "")
	out := &huma.Response{
		Description: errorWords[status],
		Content:     map[string]*huma.MediaType{problemType: {Schema: schema}},
		Headers:     map[string]*huma.Param{"X-Request-Id": textHeader("Id of the request in the server's log.")},
	}
	refer(out, api.DialectHeader)
	if status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable {
		out.Headers["Retry-After"] = textHeader("Seconds to wait.")
	}
	if status == http.StatusTooManyRequests {
		refer(out, rates...)
	}
	if status == http.StatusUnauthorized {
		out.Headers["WWW-Authenticate"] = textHeader("Authentication scheme: Bearer.")
	}
	return out
}

// rates are the rate limit headers. Every response to a token has them, unless the server sets no
// limit.
var rates = []string{"RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"}

// headerWords are the texts of the headers in the components.
var headerWords = map[string]string{
	api.DialectHeader: "Dialect of the response: contract or hosted.",
	api.FindingsHeader: "Number of findings in the response, and the member that contains them: " +
		`count=100, at="sastFindings.findings".`,
	api.LicensePolicyHeader: "none if the hosted dialect filters by a license policy: there is no such policy, so no " +
		"dependency is blocked.",
	api.ChangesCursorHeader: "Cursor from which findings/changes returns all changes since this response " +
		"(Redoubt extension). Not sent for tokens that are restricted to projects.",
	api.ViewProblemHeader: "Parts of the requested saved view that no longer exist, in quotes: " +
		"\"the project acme/old no longer exists\". They select nothing.",
	"RateLimit-Limit":     "Maximum number of requests at once.",
	"RateLimit-Remaining": "Remaining requests.",
	"RateLimit-Reset":     "Seconds until the full number is available again.",
}

// refer adds references to headers in the components.
func refer(answer *huma.Response, names ...string) {
	if answer.Headers == nil {
		answer.Headers = map[string]*huma.Param{}
	}
	for _, name := range names {
		answer.Headers[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
}

func textHeader(text string) *huma.Param {
	return &huma.Param{Description: text, Schema: &huma.Schema{Type: huma.TypeString}}
}

// Resolve follows references.
func (s *Spec) Resolve(schema *huma.Schema) *huma.Schema {
	for schema != nil && schema.Ref != "" {
		schema = s.api.OpenAPI().Components.Schemas.SchemaFromRef(schema.Ref)
	}
	return schema
}

// spellings maps the folded names of an object's members to their names.
func spellings(object *huma.Schema) map[string]string {
	out := map[string]string{}
	for name := range object.Properties {
		if other, exists := out[fold(name)]; exists {
			panic("members " + name + " and " + other + " of one object differ only in spelling")
		}
		out[fold(name)] = name
	}
	return out
}

// An extension is part of neither the contract nor the hosted service. Operations are marked in the
// table, parameters and members in their texts.

// extensionMark is the member of openapi.json that marks an extension.
const extensionMark = "x-redoubt"

// extensionWords end the text of a parameter or member that is an extension.
const extensionWords = "(Redoubt extension)"

// Extension marks an operation as an extension.
func Extension(h Handler) Handler {
	return func(a huma.API, o *operation) {
		mark(&o.described.Extensions)
		o.described.Description += " An extension of Redoubt."
		h(a, o)
	}
}

// severalWords end the text of a parameter that may be repeated here, but not in the contract.
const severalWords = "(several: Redoubt extension)"

func mark(extensions *map[string]any) {
	if *extensions == nil {
		*extensions = map[string]any{}
	}
	(*extensions)[extensionMark] = true
}

// markByWords marks a parameter or member whose text contains words.
func markByWords(text, words string, extensions *map[string]any) {
	if strings.Contains(text, words) {
		mark(extensions)
	}
}

// errorWords are the texts of error statuses.
var errorWords = map[int]string{
	400: "The request is invalid; `errors` lists every invalid member.",
	401: "The token is missing or invalid.",
	403: "The token lacks a permission.",
	404: "The object does not exist or belongs to another tenant; both have the same response.",
	409: "The write conflicts with the stored state, or the cursor is too old.",
	413: "The body exceeds the size limit.",
	415: "The media type of the body is not supported.",
	429: "The token sends too many requests; retry after the time in `Retry-After`.",
	500: "Internal server error; the server log contains the cause under the request id.",
	503: "The server is busy or shutting down; retry after the time in `Retry-After`.",
}

// Operation returns the documentation of an operation, or nil.
func (s *Spec) Operation(id string) *huma.Operation {
	if o := s.operations[id]; o != nil {
		return o.described
	}
	return nil
}

// OpenAPI returns the library's document. Callers must not change it.
func (s *Spec) OpenAPI() *huma.OpenAPI { return s.api.OpenAPI() }
