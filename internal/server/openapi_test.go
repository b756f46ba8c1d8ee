package server

import (
	"flag"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var updateGolden = flag.Bool("update", false, "write golden files")

func TestOpenAPIIsCurrent(t *testing.T) {
	got, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	const golden = "../../api/openapi.json"
	if *updateGolden {
		if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("openapi.json is not what the table says; go test ./internal/server -update writes it:\n%s", diff)
	}
}

// TestEverySchemaIsReferredTo: what nothing refers to describes nothing.
func TestEverySchemaIsReferredTo(t *testing.T) {
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	for name := range theSpec().api.OpenAPI().Components.Schemas.Map() {
		if !strings.Contains(string(text), `"#/components/schemas/`+name+`"`) {
			t.Errorf("nothing refers to %s", name)
		}
	}
}

// TestDescribedBodiesAreTaken holds the bodies that are described to those that
// the server takes: their media types, and none at all where none is needed.
func TestDescribedBodiesAreTaken(t *testing.T) {
	h := newHarness(t)
	for _, r := range Routes() {
		body := theSpec().operations[r.ID].described.RequestBody
		if body == nil {
			continue
		}
		path := strings.NewReplacer("{deploymentId}", "acme", "{deploymentSlug}", "acme").Replace(r.Pattern)
		path = pathPart.ReplaceAllString(path, "999")
		for media := range body.Content {
			if a := h.send(r.Method, path, "{}", "Content-Type", media); a.status == http.StatusUnsupportedMediaType {
				t.Errorf("%s does not take %s: %s", r.ID, media, a.body)
			}
		}
		if a := h.send(r.Method, path, ""); body.Required != (a.status == http.StatusBadRequest) && a.status != http.StatusNotFound {
			t.Errorf("%s without a body answers %d, and says that one is needed: %t", r.ID, a.status, body.Required)
		}
	}
}
