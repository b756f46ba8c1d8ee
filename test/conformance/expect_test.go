package conformance

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// read decodes a successful response and rejects unknown members.
func read[T any](t testing.TB, a answer) T {
	t.Helper()
	if a.status != 200 {
		t.Fatalf("status %d, want 200: %.1000s", a.status, a.body)
	}
	var out T
	decode := json.NewDecoder(bytes.NewReader(a.body))
	decode.DisallowUnknownFields()
	if err := decode.Decode(&out); err != nil {
		t.Fatalf("%v in %.1000s", err, a.body)
	}
	return out
}

// get reads an address below the deployment.
func get[T any](t testing.TB, s *site, path string, query ...url.Values) T {
	t.Helper()
	for _, q := range query {
		path += "?" + q.Encode()
	}
	return read[T](t, s.send(t, request{method: "GET", path: path}))
}

// post sends JSON to an address below the deployment.
func post[T any](t testing.TB, s *site, path string, body any) T {
	t.Helper()
	return read[T](t, s.send(t, request{method: "POST", path: path, body: body}))
}

// patch changes the resource at an address below the deployment.
func patch[T any](t testing.TB, s *site, path string, body any) T {
	t.Helper()
	return read[T](t, s.send(t, request{method: "PATCH", path: path, body: body}))
}

// refused checks an error with a code, and its locations if any are given.
func refused(t testing.TB, a answer, status int, code string, locations ...string) api.Problem {
	t.Helper()
	if a.status != status {
		t.Errorf("status %d, want %d: %.500s", a.status, status, a.body)
		return api.Problem{}
	}
	var p api.Problem
	if err := json.Unmarshal(a.body, &p); err != nil {
		t.Fatal(err)
	}
	if p.Code != code {
		t.Errorf("code %q, want %q", p.Code, code)
	}
	if len(locations) == 0 {
		return p
	}
	var named []string
	for _, e := range p.Errors {
		named = append(named, e.Location)
	}
	slices.Sort(named)
	slices.Sort(locations)
	if !slices.Equal(slices.Compact(named), locations) {
		t.Errorf("names %v, want %v: %s", named, locations, a.body)
	}
	return p
}

// invalid checks a 400 with the given locations.
func invalid(t testing.TB, a answer, locations ...string) {
	t.Helper()
	refused(t, a, 400, api.CodeInvalidArgument, locations...)
}

// mapped applies fn to each value.
func mapped[T, U any](values []T, fn func(T) U) []U {
	out := make([]U, len(values))
	for i, v := range values {
		out[i] = fn(v)
	}
	return out
}

// filterSlice returns the values for which pass is true.
func filterSlice[T any](values []T, pass func(T) bool) []T {
	out := []T{}
	for _, v := range values {
		if pass(v) {
			out = append(out, v)
		}
	}
	return out
}
