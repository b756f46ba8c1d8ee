package mcp

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestLongNamesRemainDistinct checks that members whose long names have the same prefix are all in a
// shortened response.
func TestLongNamesRemainDistinct(t *testing.T) {
	common := strings.Repeat("n", 9000)
	text, err := bounded(map[string]any{common + "a": strings.Repeat("x", maxAnswer), common + "b": 1})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || len(got) != 2 {
		t.Errorf("%d members, want 2 (%v)", len(got), err)
	}
}
