package core

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// readJSON reads a body of at most limit bytes, compressed and decompressed. An empty body is read
// as the empty object, since every member may be absent.
func readJSON(r *http.Request, limit int64) ([]byte, error) {
	body, err := Inflate(r, limit)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, BodyFault(err)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // byte order mark, which RFC 8259 allows parsers to ignore
	if len(data) == 0 {
		return []byte("{}"), nil
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, NewProblem(
			api.CodeUnsupportedMediaType, "The body is not declared as JSON. Send Content-Type: application/json.", nil,
		)
	}
	return data, nil
}

// BodyFault converts a read error of a body to an invalid body. Errors of bodies over the limit and
// model.ErrUnavailable are returned unchanged.
func BodyFault(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || errors.Is(err, model.ErrUnavailable) {
		return err
	}
	return invalidProblem([]model.FieldError{{Location: "body", Message: "cannot be read completely: " + err.Error()}})
}

func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// Inflate returns the body, decompressed if it is gzip. Reading more than limit bytes, compressed
// or not, fails with a *http.MaxBytesError. It returns that error at once if the Content-Length is
// over the limit.
func Inflate(r *http.Request, limit int64) (io.Reader, error) {
	if r.ContentLength > limit {
		return nil, &http.MaxBytesError{Limit: limit}
	}
	raw := http.MaxBytesReader(nil, wire{r.Body}, limit)
	switch encoding := strings.ToLower(r.Header.Get("Content-Encoding")); encoding {
	case "", "identity":
		return raw, nil
	case "gzip", "x-gzip":
		zipped, err := gzip.NewReader(raw)
		if err != nil {
			return nil, BodyFault(fmt.Errorf("is not gzip, although Content-Encoding is gzip: %w", err))
		}
		return http.MaxBytesReader(nil, io.NopCloser(zipped), limit), nil
	default:
		return nil, NewProblem(api.CodeUnsupportedMediaType,
			fmt.Sprintf("The Content-Encoding %.40q is not supported. Send gzip, or omit the header.", encoding), nil)
	}
}

// wire is the body of a request. It hides network errors, which contain internal addresses.
type wire struct{ io.ReadCloser }

// Read implements io.Reader.
func (w wire) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if _, ok := errors.AsType[net.Error](err); ok {
		err = ErrCutOff
	}
	return n, err
}

// ErrCutOff is the error of a body whose connection broke. It contains no address.
var ErrCutOff = errors.New("the connection was interrupted or too slow")

// fold returns the common form of all spellings of a member, such as repositoryId and
// repository_id.
func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// readBody parses JSON into a tree of maps. Members have the names of the schema, and whole numbers
// are integers. It rejects duplicate members in any spelling, and NUL characters, which databases
// cannot store; the library accepts both. It returns each null that the schema does not permit
// (docs/reference/requests.md): the library ignores them, and a filter that is null would select
// everything.
func (s *Spec) readBody(src []byte, schema *huma.Schema) (tree any, nulls []model.FieldError, err error) {
	if err := json.Unmarshal(src, new(json.RawMessage)); err != nil { // also limits the depth
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, nil, model.Invalid("body", "malformed JSON at byte %d: %v", syntax.Offset, err)
		}
		return nil, nil, model.Invalid("body", "malformed JSON: %v", err)
	}
	r := bodyReader{Decoder: json.NewDecoder(bytes.NewReader(src)), spec: s}
	r.UseNumber()
	tree, err = r.value(schema, "body")
	return tree, r.nulls, err
}

// bodyReader reads a document of valid syntax. Values of unknown members are read without a schema
// and without a location, whose length would grow with the depth.
type bodyReader struct {
	*json.Decoder
	spec  *Spec
	nulls []model.FieldError
}

func (r *bodyReader) value(schema *huma.Schema, at string) (any, error) {
	token, err := r.Token()
	if err != nil {
		return nil, err
	}
	forms := r.spec.formsOf(schema)
	switch token := token.(type) {
	case json.Delim:
		if token == '{' {
			return r.object(r.spec.Resolve(schema), at)
		}
		return r.list(forms, at)
	case string:
		if strings.ContainsRune(token, 0) {
			return nil, model.Invalid("body", "contains a NUL character before byte %d", r.InputOffset())
		}
	case json.Number:
		return wholeNumber(token), nil
	case nil:
		nullable := slices.ContainsFunc(forms, func(s *huma.Schema) bool { return s.Nullable })
		if schema != nil && !nullable && len(r.nulls) <= maxFaults {
			message := "must not be null: omit the member"
			r.nulls = append(r.nulls, model.FieldError{Location: at, Message: message})
		}
	}
	return token, nil
}

// object reads an object after its opening brace.
func (r *bodyReader) object(schema *huma.Schema, at string) (any, error) {
	out := map[string]any{}
	for r.More() {
		key, err := r.value(nil, at)
		if err != nil {
			return nil, err
		}
		name, member := r.spec.memberOf(schema, fmt.Sprint(key))
		if _, twice := out[name]; twice {
			return nil, model.Invalid("body."+name, "occurs more than once")
		}
		below := ""
		if member != nil {
			below = at + "." + name
		}
		if out[name], err = r.value(member, below); err != nil {
			return nil, err
		}
	}
	_, err := r.Token()
	return out, err
}

// list reads a list after its opening bracket.
func (r *bodyReader) list(forms []*huma.Schema, at string) (any, error) {
	var items *huma.Schema
	for _, form := range forms {
		items = cmp.Or(items, form.Items)
	}
	out := []any{}
	for r.More() {
		below := ""
		if items != nil {
			below = at + "[" + strconv.Itoa(len(out)) + "]"
		}
		item, err := r.value(items, below)
		if err != nil {
			return nil, err
		}
		out = append(out, item)
	}
	_, err := r.Token()
	return out, err
}

// memberOf returns the canonical name and the schema of a member. An unknown member is returned
// with its name.
func (s *Spec) memberOf(object *huma.Schema, name string) (string, *huma.Schema) {
	if object == nil {
		return name, nil
	}
	if canonical, ok := s.members[object][fold(name)]; ok {
		name = canonical
	}
	return name, object.Properties[name]
}

// wholeNumber returns whole numbers as integers, including 5.0 and 5e2 (JSON Schema, 6.1.1). Other
// numbers are returned as written.
func wholeNumber(n json.Number) any {
	if integer, fraction, found := strings.Cut(n.String(), "."); found && strings.Trim(fraction, "0") == "" {
		return json.Number(integer)
	}
	const exact = 1 << 53
	if f, err := n.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) < exact {
		return int64(f)
	}
	return n
}

// formsOf returns the alternative schemas of a value, or nil without a schema.
func (s *Spec) formsOf(schema *huma.Schema) []*huma.Schema {
	schema = s.Resolve(schema)
	switch {
	case schema == nil:
		return nil
	case len(schema.OneOf) == 0:
		return []*huma.Schema{schema}
	}
	return schema.OneOf
}

var indexed = regexp.MustCompile(`\[\d*\]$`)

// respelt returns the known parameter that name is another spelling of, such as pageSize, or "".
func respelt(name string, known map[string]bool) string {
	for other := range known {
		if fold(other) == fold(name) {
			return other
		}
	}
	return ""
}

// strictQueries are the operations that reject unknown parameters. They are extensions, whose
// documentation promises no leniency, and an ignored filter would widen the selection.
var strictQueries = []string{"countFindings", "exportFindings", "listFindingChanges", "search"}

// canonicalQuery rewrites the known parameters to one spelling. Lists become repeated parameters,
// whether they were repeated, comma-separated, or sent as name[] or name[0]
// (docs/reference/requests.md). Strict operations reject unknown parameters; others ignore them.
// lenient, if set, converts the parameters of a dialect first.
func canonicalQuery(raw string, known map[string]bool, strict bool, lenient func(url.Values)) (string, error) {
	sent, err := url.ParseQuery(raw)
	if err != nil {
		return "", model.Invalid("query", "malformed: %v", err)
	}
	var faults model.InvalidError
	out := url.Values{}
	for _, key := range slices.Sorted(maps.Keys(sent)) {
		name := indexed.ReplaceAllString(key, "")
		list, ok := known[name]
		if !ok && strict {
			fault := model.FieldError{Location: "query." + key, Message: "is not a parameter of this operation"}
			faults.Fields = append(faults.Fields, fault)
			continue
		}
		if !ok && lenient != nil {
			name = respelt(name, known)
			list, ok = known[name]
		}
		if !ok {
			continue
		}
		for _, value := range sent[key] {
			if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
				faults.Fields = append(faults.Fields, model.FieldError{
					Location: "query." + name,
					Message:  "must be UTF-8 without NUL characters",
				})
				continue
			}
			if !list {
				out.Add(name, value)
				continue
			}
			for part := range strings.SplitSeq(value, ",") {
				if part = strings.TrimSpace(part); part != "" {
					out.Add(name, part)
				}
			}
		}
	}
	if lenient != nil {
		lenient(out)
	}
	for _, name := range slices.Sorted(maps.Keys(out)) {
		if !known[name] && len(slices.Compact(out[name])) > 1 {
			faults.Fields = append(faults.Fields, model.FieldError{
				Location: "query." + name,
				Message:  "occurs more than once",
			})
		}
	}
	if len(faults.Fields) > 0 {
		return "", &faults
	}
	return out.Encode(), nil
}
