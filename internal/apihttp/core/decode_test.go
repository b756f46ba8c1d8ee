package core

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

var testParams = map[string]bool{"repos": true, "page": false, "ref": false}

func TestQuerySpellings(t *testing.T) {
	for _, test := range []struct{ query, want string }{
		{"repos=a&repos=b", "repos=a&repos=b"},
		{"repos=a,b", "repos=a&repos=b"},
		{"repos[]=a&repos[]=b", "repos=a&repos=b"},
		{"repos[0]=a&repos[1]=b", "repos=a&repos=b"},
		{"repos%5B0%5D=a&repos=b,c", "repos=b&repos=c&repos=a"},
		{"repos=", ""},
		{"repos=,a,", "repos=a"},
		{"repos=a,%20b", "repos=a&repos=b"},
		{"repos=+a+,+,b%09", "repos=a&repos=b"},
		{"ref=+a", "ref=+a"},
		{"?&&&page=1", "page=1"},
		{"&&&page=1", "page=1"},
		{"page=1&unknown=2&pageSize=3", "page=1"},
		{"ref=a,b", "ref=a%2Cb"},
		{"ref=&ref=", "ref=&ref="},
	} {
		got, err := canonicalQuery(test.query, testParams, false, nil)
		gotValues, _ := url.ParseQuery(got)
		wantValues, _ := url.ParseQuery(test.want)
		for _, v := range []url.Values{gotValues, wantValues} {
			slices.Sort(v["repos"])
		}
		if test.query == "?&&&page=1" { // the extra question mark is part of the first name
			continue
		}
		if diff := cmp.Diff(wantValues, gotValues); err != nil || diff != "" {
			t.Errorf("%q became %q, %v", test.query, got, err)
		}
	}
	for _, bad := range []string{"page=1&page=2", "ref=%00", "repos=%ff", "page=%zz", "a;b"} {
		var invalid *model.InvalidError
		if got, err := canonicalQuery(bad, testParams, false, nil); !errors.As(err, &invalid) {
			t.Errorf("%q became %q, %v", bad, got, err)
		}
	}
}

// TestLenientParameterSpellings checks that other spellings of a parameter are accepted only in a
// lenient dialect.
func TestLenientParameterSpellings(t *testing.T) {
	lenient := func(url.Values) {}
	for _, test := range []struct {
		query   string
		lenient func(url.Values)
		want    string
	}{
		{"Repos=a&P_age=2", nil, ""},
		{"Repos=a&P_age=2", lenient, "page=2&repos=a"},
		{"repos=a&other=2", lenient, "repos=a"},
	} {
		if got, err := canonicalQuery(test.query, testParams, false, test.lenient); err != nil || got != test.want {
			t.Errorf("%q became %q, %v, want %q", test.query, got, err, test.want)
		}
	}
}

// TestMalformedJSONErrorHasOffset checks that the error contains the byte offset.
func TestMalformedJSONErrorHasOffset(t *testing.T) {
	if _, _, err := testSpec.readBody([]byte(`{"a":1,}`), nil); err == nil || !strings.Contains(err.Error(), "at byte 8") {
		t.Errorf("the client reads: %v", err)
	}
}

func FuzzQuery(f *testing.F) {
	f.Add("repos=a,b&repos[1]=c&page=2&status=open")
	f.Add("is_malicious=x&since=NaN&page_size=1e3")
	f.Fuzz(func(t *testing.T, raw string) {
		params := testParams
		once, err := canonicalQuery(raw, params, false, nil)
		if err != nil {
			return
		}
		if twice, err := canonicalQuery(once, params, false, nil); err != nil || twice != once {
			t.Errorf("%q became %q and then %q, %v", raw, once, twice, err)
		}
	})
}

// rewritten returns a body in the form that the library reads.
func rewritten(body []byte, operation string) ([]byte, error) {
	tree, _, err := testSpec.readBody(body, testSpec.operations[operation].body)
	if err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

func TestBodySpellings(t *testing.T) {
	for _, test := range []struct{ body, want string }{
		{
			`{"page_size": 5, "dependency_filter": {"repository_id": [1], "PackageFilters": [{"exact_name_match": true}]}}`,
			`{"dependencyFilter":{"packageFilters":[{"exactNameMatch":true}],"repositoryId":[1]},"pageSize":5}`,
		},
		{`{"unknown_one": {"page_size": "page_size"}}`, `{"unknown_one":{"page_size":"page_size"}}`},
		{"{\"p\\u0061ge_size\":1}", `{"pageSize":1}`},
		{`{"cursor":"a\"b\\"}`, `{"cursor":"a\"b\\"}`},
		{` [ "page_size" , {} ] `, `["page_size",{}]`},
		{`{"pageSize":345.0,"cursor":"1.0"}`, `{"cursor":"1.0","pageSize":345}`},
		{`[0.0,-0.00,-7.0,5e2,1.5E+1,20e-1,9007199254740993.0]`, `[0,-0,-7,500,15,2,9007199254740993]`},
		{`[0.5,-1.25,1e-1,1e300,1E999,9007199254740993e0]`, `[0.5,-1.25,1e-1,1e300,1E999,9007199254740993e0]`},
		{`[9007199254740991e0,9007199254740992e0,-9007199254740992e0]`, `[9007199254740991,9007199254740992e0,-9007199254740992e0]`},
		{`7.0`, `7`},
	} {
		got, err := rewritten([]byte(test.body), "listDependencies")
		if err != nil || string(got) != test.want {
			t.Errorf("%s became %s, %v", test.body, got, err)
		}
	}
	for _, bad := range []string{``, `{`, `{} {}`, `{"a":1,"a":2}`, `{"pageSize":1,"page_size":1}`, `{"dependencyFilter":{"name":1,"Name":2}}`, `{"name":"a\u0000b"}`, `{"\u0000":1}`, `{'a':1}`} {
		var invalid *model.InvalidError
		if got, err := rewritten([]byte(bad), "listDependencies"); !errors.As(err, &invalid) {
			t.Errorf("%s became %s, %v", bad, got, err)
		}
	}
}

// TestDeepBodiesAreBounded checks that memory grows with the size of a body and not with its depth.
func TestDeepBodiesAreBounded(t *testing.T) {
	name := strings.Repeat("n", 190)
	body := strings.Repeat(`{"`+name+`":`, 9000) + "1" + strings.Repeat("}", 9000)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	if _, err := rewritten([]byte(body), "triageFindings"); err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
		t.Errorf("a body of %d bytes allocates %d", len(body), used)
	}
}

func FuzzBody(f *testing.F) {
	f.Add([]byte(`{"issue_type":"sast","issueIds":["1",2],"status":"open,fixed","since":1.5}`))
	f.Add([]byte(`{"a":[{"b":"\\\" \u00e9"}],"c":null,"repos":["a"]}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		once, err := rewritten(body, "triageFindings")
		if err != nil {
			return
		}
		if twice, err := rewritten(once, "triageFindings"); err != nil || !bytes.Equal(twice, once) {
			t.Fatalf("%q became %q and then %q, %v", body, once, twice, err)
		}
		var r api.TriageRequest
		_ = json.Unmarshal(once, &r)
	})
}

func TestReadJSON(t *testing.T) {
	zipped := func(text string) string { return string(reporttest.Gzip(t, []byte(text))) }
	for _, test := range []struct {
		name, body, media, encoding, want string
		code                              string
	}{
		{name: "plain", body: `{"a":1}`, media: "application/json; charset=utf-8", want: `{"a":1}`},
		{name: "undeclared", body: `{"a":1}`, want: `{"a":1}`},
		{name: "none", want: `{}`},
		{name: "gzip", body: zipped(`{"a":1}`), media: "application/json", encoding: "gzip", want: `{"a":1}`},
		{name: "a bomb", body: zipped(strings.Repeat(" ", 1<<20)), media: "application/json", encoding: "gzip", code: api.CodeTooLarge},
		{name: "too large", body: strings.Repeat(" ", 101), media: "application/json", code: api.CodeTooLarge},
		{name: "exactly at the limit", body: `{"a":1}` + strings.Repeat(" ", 93), media: "application/json", want: `{"a":1}` + strings.Repeat(" ", 93)},
		{name: "as large inflated", body: zipped(`{"a":1}` + strings.Repeat(" ", 93)), media: "application/json", encoding: "x-gzip", want: `{"a":1}` + strings.Repeat(" ", 93)},
		{name: "another kind of JSON", body: `{}`, media: "application/merge-patch+json", want: `{}`},
		{name: "a broken media type", body: `{}`, media: "application/json; charset", code: api.CodeUnsupportedMediaType},
		{name: "a small bomb", body: zipped(strings.Repeat(" ", 1000)), media: "application/json", encoding: "gzip", code: api.CodeTooLarge},
		{name: "a form", body: "a=1", media: "application/x-www-form-urlencoded", code: api.CodeUnsupportedMediaType},
		{name: "another encoding", body: "x", media: "application/json", encoding: "br", code: api.CodeUnsupportedMediaType},
		{name: "no gzip", body: "x", media: "application/json", encoding: "gzip", code: api.CodeInvalidArgument},
		{name: "broken gzip", body: zipped(`{"a":1}`)[:20], media: "application/json", encoding: "gzip", code: api.CodeInvalidArgument},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(test.body))
			r.Header.Set("Content-Type", test.media)
			r.Header.Set("Content-Encoding", test.encoding)
			got, err := readJSON(r, 100)
			if test.code != "" {
				if err == nil || ProblemOf(err).Code != test.code {
					t.Errorf("got %q, %v; want %s", got, err, test.code)
				}
				return
			}
			if err != nil || string(got) != test.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

// TestConnectionErrorsContainNoAddress checks that responses contain no address of a network error.
func TestConnectionErrorsContainNoAddress(t *testing.T) {
	fault := &net.OpError{Op: "read", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(10, 9, 8, 7), Port: 1}, Err: os.ErrDeadlineExceeded}
	r := httptest.NewRequest(http.MethodPost, "/", io.NopCloser(iotest.ErrReader(fault)))
	_, err := readJSON(r, 1<<20)
	if err == nil || strings.Contains(err.Error(), "10.9.8.7") || !strings.Contains(err.Error(), "too slow") {
		t.Errorf("the client reads: %v", err)
	}
}
