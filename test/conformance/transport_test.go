package conformance

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/redoubt/redoubt/api"
)

var specFile = filepath.Join("..", "..", "api", "openapi.json")

// spec returns api/openapi.json, which is read once.
var spec = sync.OnceValues(func() (*openapi3.T, error) {
	text, err := os.ReadFile(specFile)
	if err != nil {
		return nil, err
	}
	return openapi3.NewLoader().LoadFromData(text)
})

// judge is a transport that rejects responses that violate openapi.json or the rules for all
// responses.
type judge struct{ base http.RoundTripper }

// RoundTrip sends the request and validates the response.
func (j judge) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := j.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	if err := checkResponse(r, resp, body); err != nil {
		return nil, fmt.Errorf("%s %s returned %d, which violates the contract: %w\n%.2000s", r.Method, r.URL, resp.StatusCode, err, body)
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

func checkResponse(r *http.Request, resp *http.Response, body []byte) error {
	if resp.Header.Get("X-Request-Id") == "" {
		return errors.New("no X-Request-Id")
	}
	if resp.StatusCode >= 400 && r.Method != http.MethodHead {
		if err := problemShape(resp, body); err != nil {
			return err
		}
	}
	doc, err := spec()
	if err != nil {
		return err
	}
	path, item := pathOf(doc, r.URL.EscapedPath())
	if item == nil || item.GetOperation(r.Method) == nil {
		if resp.StatusCode < 400 && strings.HasPrefix(r.URL.Path, "/api/v1/deployments") && r.Method != http.MethodHead {
			return errors.New("openapi.json does not describe the operation")
		}
		return nil
	}
	err = openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r,
			Route:   &routers.Route{Spec: doc, Path: path, PathItem: item, Method: r.Method, Operation: item.GetOperation(r.Method)},
		},
		Status: resp.StatusCode, Header: resp.Header, Body: io.NopCloser(bytes.NewReader(body)),
		Options: &openapi3filter.Options{IncludeResponseStatus: true, ExcludeResponseBody: true},
	})
	if err != nil || r.Method == http.MethodHead {
		return err
	}
	return validateBody(item.GetOperation(r.Method), []string{"paths", path, strings.ToLower(r.Method), "responses"}, resp, body)
}

// validateBody validates a body against its schema. The library above would compile the schema again
// for each response, which would dominate the time of these tests.
func validateBody(op *openapi3.Operation, at []string, resp *http.Response, body []byte) error {
	status := strconv.Itoa(resp.StatusCode)
	if op.Responses.Value(status) == nil {
		status = "default"
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil {
		return err
	}
	answer := op.Responses.Value(status)
	if answer.Value.Content[media] == nil {
		return fmt.Errorf("openapi.json has no %s here", media)
	}
	at = append(at, status)
	if shared, ok := strings.CutPrefix(answer.Ref, "#/"); ok {
		at = strings.Split(shared, "/")
	}
	if !strings.HasSuffix(media, "json") || resp.Header.Get("Content-Disposition") != "" {
		return nil // a document, which has a different schema
	}
	at = append(at, "content", media, "schema")
	key := sha256.Sum256(slices.Concat([]byte(strings.Join(at, "\n")), []byte{0}, body))
	if _, ok := valid.Load(key); ok {
		return nil
	}
	schema, err := compiled(at)
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err := schema.Validate(value); err != nil {
		return err
	}
	valid.Store(key, struct{}{})
	return nil
}

// valid contains the hashes of the schemas and bodies that were valid. Many tests read the same
// lists, so most bodies occur several times.
var valid sync.Map

// schemas caches the compiled schemas of openapi.json.
var schemas struct {
	sync.Mutex
	compiler   *jsonschema.Compiler
	byLocation map[string]*jsonschema.Schema
}

// compiled returns the compiled schema at a location of openapi.json.
func compiled(at []string) (*jsonschema.Schema, error) {
	const document = "https://redoubt.example.com/openapi.json"
	schemas.Lock()
	defer schemas.Unlock()
	if schemas.compiler == nil {
		text, err := os.ReadFile(specFile)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			return nil, err
		}
		schemas.compiler, schemas.byLocation = jsonschema.NewCompiler(), map[string]*jsonschema.Schema{}
		schemas.compiler.DefaultDraft(jsonschema.Draft2020)
		schemas.compiler.AssertFormat()
		if err := schemas.compiler.AddResource(document, doc); err != nil {
			return nil, err
		}
	}
	location := document + "#"
	for _, part := range at {
		location += "/" + url.PathEscape(strings.NewReplacer("~", "~0", "/", "~1").Replace(part))
	}
	if schemas.byLocation[location] == nil {
		schema, err := schemas.compiler.Compile(location)
		if err != nil {
			return nil, err
		}
		schemas.byLocation[location] = schema
	}
	return schemas.byLocation[location], nil
}

// problemShape checks an error against docs/reference/errors.md.
func problemShape(resp *http.Response, body []byte) error {
	if got := resp.Header.Get("Content-Type"); got != "application/problem+json" {
		return fmt.Errorf("an error of Content-Type %q", got)
	}
	var p api.Problem
	decode := json.NewDecoder(bytes.NewReader(body))
	decode.DisallowUnknownFields()
	if err := decode.Decode(&p); err != nil {
		return err
	}
	switch {
	case p.Status != resp.StatusCode:
		return fmt.Errorf("status %d in the body", p.Status)
	case p.Type == "" || p.Title == "" || p.Detail == "" || p.Instance == "" || p.Code == "":
		return errors.New("an empty member")
	case p.Message != p.Detail:
		return errors.New("error and detail differ")
	case p.Errors == nil:
		return errors.New("errors is null")
	case p.RequestID != resp.Header.Get("X-Request-Id"):
		return errors.New("request_id is not that of the header")
	}
	return nil
}

// pathOf returns the path template of an address. A project's name may contain slashes, so its
// parameter matches all remaining segments.
func pathOf(doc *openapi3.T, path string) (string, *openapi3.PathItem) {
	segments := strings.Split(path, "/")
	best := ""
	for template := range doc.Paths.Map() {
		if !matches(strings.Split(template, "/"), segments) {
			continue
		}
		fewer := strings.Count(template, "{") - strings.Count(best, "{") // literal segments win over parameters
		if best == "" || fewer < 0 || fewer == 0 && len(template) > len(best) {
			best = template
		}
	}
	return best, doc.Paths.Find(best)
}

func matches(template, segments []string) bool {
	for i, part := range template {
		if part == "{projectName}" {
			rest := len(template) - i - 1 // parts after the name
			last := len(segments) - rest
			twoOrMore := strings.Count(strings.ToUpper(strings.Join(segments[min(i, last):last], "/")), "%2F")+last-i >= 2
			return last > i && (rest == 0 || twoOrMore) && matches(template[i+1:], segments[last:])
		}
		if i >= len(segments) || part != segments[i] && (!strings.HasPrefix(part, "{") || segments[i] == "") {
			return false
		}
	}
	return len(template) == len(segments)
}
