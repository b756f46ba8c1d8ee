package server

import (
	"bytes"
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

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
)

// readJSON reads a body of at most limit bytes, before and after inflating. No
// body at all is the empty object, since every member may be left out.
func readJSON(r *http.Request, limit int64) ([]byte, error) {
	body, err := inflate(r, limit)
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, bodyFault(err)
	}
	data = bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")) // a byte order mark, which RFC 8259 lets parsers ignore
	if len(data) == 0 {
		return []byte("{}"), nil
	}
	if !isJSON(r.Header.Get("Content-Type")) {
		return nil, newProblem(api.CodeUnsupportedMediaType, "The body is not declared as JSON. Send Content-Type: application/json.", nil)
	}
	return data, nil
}

// bodyFault tells a body that could not be read from one that is too large, and
// from one that a server which stops reads no further.
func bodyFault(err error) error {
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || errors.Is(err, redoubt.ErrUnavailable) {
		return err
	}
	return invalidProblem([]redoubt.FieldError{{Location: "body", Message: "could not be read to its end: " + err.Error()}})
}

func isJSON(contentType string) bool {
	if contentType == "" {
		return true
	}
	media, _, err := mime.ParseMediaType(contentType)
	return err == nil && (media == "application/json" || strings.HasSuffix(media, "+json"))
}

// inflate returns the body, inflated if it is gzip; either way reading more
// than limit bytes of it is a *http.MaxBytesError, before the first byte where
// the client says how many it will send.
func inflate(r *http.Request, limit int64) (io.Reader, error) {
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
			return nil, bodyFault(fmt.Errorf("it is not gzip, as Content-Encoding says: %w", err))
		}
		return http.MaxBytesReader(nil, io.NopCloser(zipped), limit), nil
	default:
		return nil, newProblem(api.CodeUnsupportedMediaType, fmt.Sprintf("The Content-Encoding %.40q is not understood. Send gzip or nothing.", encoding), nil)
	}
}

// wire is a body on its way in. A fault of the connection names addresses of
// this network, which are nothing to the client.
type wire struct{ io.ReadCloser }

// Read implements io.Reader.
func (w wire) Read(p []byte) (int, error) {
	n, err := w.ReadCloser.Read(p)
	if _, ok := errors.AsType[net.Error](err); ok {
		err = errCutOff
	}
	return n, err
}

var errCutOff = errors.New("the connection broke, or was too slow")

// fold makes one of all spellings of a member: repositoryId, repository_id.
func fold(name string) string { return strings.ToLower(strings.ReplaceAll(name, "_", "")) }

// canonicalJSON checks a document and writes its members under the names that
// the structs have; names maps folded to canonical ones. It refuses what would
// be guessed at or break later: a member given twice in one object, whichever
// way it is spelt, and NUL characters, which no database text holds. Whole numbers
// are written as integers.
func canonicalJSON(src []byte, names map[string]string) ([]byte, error) {
	if err := json.Unmarshal(src, new(json.RawMessage)); err != nil {
		if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
			return nil, redoubt.Invalid("body", "malformed JSON at byte %d: %v", syntax.Offset, err)
		}
		return nil, redoubt.Invalid("body", "malformed JSON: %v", err)
	}
	s := jsonScanner{src: src, names: names, out: make([]byte, 0, len(src)+16)}
	return s.out, s.run()
}

// jsonScanner walks a valid document once.
type jsonScanner struct {
	src   []byte
	names map[string]string
	out   []byte
	open  []*object // one for each brace and bracket; nil for brackets
}

// object is where the scanner is in an object.
type object struct {
	atName bool
	seen   map[string]bool
}

func (s *jsonScanner) run() error {
	for i := 0; i < len(s.src); {
		switch b := s.src[i]; b {
		case '"':
			end, err := s.text(i)
			if err != nil {
				return err
			}
			i = end
			continue
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n := bytes.IndexFunc(s.src[i:], func(r rune) bool { return !strings.ContainsRune("+-.0123456789Ee", r) })
			if n < 0 {
				n = len(s.src) - i
			}
			s.out = append(s.out, wholeNumber(s.src[i:i+n])...)
			i += n
			continue
		case '{':
			s.open = append(s.open, &object{atName: true, seen: map[string]bool{}})
		case '[':
			s.open = append(s.open, nil)
		case '}', ']':
			s.open = s.open[:len(s.open)-1]
		case ',':
			if o := s.open[len(s.open)-1]; o != nil {
				o.atName = true
			}
		}
		s.out = append(s.out, s.src[i])
		i++
	}
	return nil
}

// wholeNumber writes a whole number as integers are written, which 5.0 and 5e2 are too
// (JSON Schema, 6.1.1), and leaves all other numbers as they are.
func wholeNumber(literal []byte) []byte {
	if bytes.ContainsAny(literal, "Ee") {
		const exact = 1 << 53
		if f, err := strconv.ParseFloat(string(literal), 64); err == nil && f == math.Trunc(f) && math.Abs(f) < exact {
			return strconv.AppendInt(nil, int64(f), 10)
		}
		return literal
	}
	if whole, fraction, found := bytes.Cut(literal, []byte(".")); found && len(bytes.Trim(fraction, "0")) == 0 {
		return whole
	}
	return literal
}

// text copies the string that starts at i, under its canonical name if it is
// one of a member, and returns where it ends.
func (s *jsonScanner) text(i int) (end int, err error) {
	end = i + 1
	for ; s.src[end] != '"'; end++ {
		if s.src[end] == '\\' {
			if bytes.HasPrefix(s.src[end:], []byte(`\u0000`)) {
				return 0, redoubt.Invalid("body", "a text holds a NUL character, at byte %d", end)
			}
			end++
		}
	}
	end++
	raw := s.src[i:end]
	if len(s.open) == 0 || s.open[len(s.open)-1] == nil || !s.open[len(s.open)-1].atName {
		s.out = append(s.out, raw...)
		return end, nil
	}
	o := s.open[len(s.open)-1]
	o.atName = false
	var name string
	if err := json.Unmarshal(raw, &name); err != nil {
		return 0, redoubt.Invalid("body", "malformed JSON at byte %d: %v", i, err)
	}
	if canonical, ok := s.names[fold(name)]; ok {
		name, raw = canonical, []byte(`"`+canonical+`"`)
	}
	if o.seen[name] {
		return 0, redoubt.Invalid("body."+name, "given more than once")
	}
	o.seen[name] = true
	s.out = append(s.out, raw...)
	return end, nil
}

// param is a query parameter of an operation.
type param struct{ list bool }

var indexed = regexp.MustCompile(`\[\d*\]$`)

// respelt is the name of the parameter that is meant by one in another spelling,
// as pageSize; empty for none.
func respelt(name string, known map[string]param) string {
	for other := range known {
		if fold(other) == fold(name) {
			return other
		}
	}
	return ""
}

// strictQueries are the operations whose unknown parameters are refused: they are
// extensions, so nobody was told that they are ignored, and a filter that is not
// understood would widen what is counted, exported or followed.
var strictQueries = []string{"countFindings", "exportFindings", "listFindingChanges", "search"}

// refuseUnknown reports the parameters that an operation does not know.
func refuseUnknown(raw string, known map[string]param) error {
	sent, err := url.ParseQuery(raw)
	if err != nil {
		return redoubt.Invalid("query", "malformed: %v", err)
	}
	var faults redoubt.InvalidError
	for _, key := range slices.Sorted(maps.Keys(sent)) {
		if _, ok := known[indexed.ReplaceAllString(key, "")]; !ok {
			faults.Fields = append(faults.Fields, redoubt.FieldError{Location: "query." + key, Message: "is no parameter of this operation"})
		}
	}
	if len(faults.Fields) > 0 {
		return &faults
	}
	return nil
}

// canonicalQuery writes the parameters that an operation knows in one spelling:
// lists repeated, whether they came so, joined by commas, or as name[] or
// name[0] (semantics §2). Others are left out: they are ignored. What a
// dialect is lenient with is settled before the rest is looked at.
func canonicalQuery(raw string, known map[string]param, lenient func(url.Values)) (string, error) {
	sent, err := url.ParseQuery(raw)
	if err != nil {
		return "", redoubt.Invalid("query", "malformed: %v", err)
	}
	var faults redoubt.InvalidError
	out := url.Values{}
	for _, key := range slices.Sorted(maps.Keys(sent)) {
		name := indexed.ReplaceAllString(key, "")
		p, ok := known[name]
		if !ok && lenient != nil {
			name = respelt(name, known)
			p, ok = known[name]
		}
		if !ok {
			continue
		}
		for _, value := range sent[key] {
			if !utf8.ValidString(value) || strings.ContainsRune(value, 0) {
				faults.Fields = append(faults.Fields, redoubt.FieldError{Location: "query." + name, Message: "must be UTF-8 without NUL characters"})
				continue
			}
			if !p.list {
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
		if !known[name].list && len(slices.Compact(out[name])) > 1 {
			faults.Fields = append(faults.Fields, redoubt.FieldError{Location: "query." + name, Message: "given more than once"})
		}
	}
	if len(faults.Fields) > 0 {
		return "", &faults
	}
	return out.Encode(), nil
}
