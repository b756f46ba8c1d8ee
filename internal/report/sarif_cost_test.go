package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// manyOf joins n items and replaces # with the number of each.
func manyOf(n int, item string) string {
	list := make([]string, n)
	for i := range list {
		list[i] = strings.ReplaceAll(item, "#", fmt.Sprint(i))
	}
	return strings.Join(list, ",")
}

// TestShortReferencesAreBounded checks that results with short references to large parts of a
// report are processed within limits.
func TestShortReferencesAreBounded(t *testing.T) {
	text := "See [this](1). " + strings.Repeat("x", read.MaxBlock/2)
	rule := `"tool":{"driver":{"name":"x","rules":[{"id":"r","messageStrings":{"m":{"text":"` + text + `{0}"}}}]}}`
	result := func(more string) string {
		return `{"ruleId":"r","message":{"id":"m"` + more + `},"analysisTarget":{"uri":"b.py"}}`
	}
	for name, test := range map[string]struct {
		run     string
		refused int // items
		full    bool
	}{
		"a rule's text":                      {rule + `,"results":[` + manyOf(5_000, result("")) + `]`, 0, true},
		"a rule's text, short":               {strings.ReplaceAll(rule, text, text[:300]) + `,"results":[` + manyOf(5_000, result("")) + `]`, 0, false},
		"a rule's text, with arguments":      {rule + `,"results":[` + manyOf(5_000, result(`,"arguments":["#"]`)) + `]`, 0, true},
		"rules of many components":           {`"tool":{"driver":{"name":"x"},"extensions":[` + manyOf(5_000, `{"name":"e"}`) + `]},"results":[` + manyOf(3_000, `{"ruleId":"`+strings.Repeat("a/", 400)+`#","analysisTarget":{"uri":"b.py"}}`) + `]`, 0, false},
		"a file with a name of a megabyte":   {`"artifacts":[{"location":{"uri":"` + strings.Repeat("%41", 1<<20) + `"}}],"results":[` + manyOf(5_000, `{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":{"index":0}}}]}`) + `]`, 5_000, false},
		"a folder with a name of a megabyte": {`"originalUriBaseIds":{"b":{"uri":"` + strings.Repeat("a/", 1<<19) + `"}},"results":[` + manyOf(5_000, `{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":{"uri":"b.py","uriBaseId":"b"}}}]}`) + `]`, 0, false},
		"many folders":                       {`"originalUriBaseIds":{` + manyOf(30_000, `"b#":{"uri":"file:///src/#/"}`) + `},"results":[` + manyOf(5_000, `{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":{"uri":"file:///other/#"}}}]}`) + `]`, 5_000, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var r Reading
			err := r.Add(strings.NewReader(`{"version":"2.1.0","runs":[{`+test.run+`}]}`), format.Options{Name: "x.sarif", Key: testKey})
			if errors.Is(err, model.ErrTooLarge) != test.full {
				t.Fatalf("full: %v", err)
			}
			if err != nil {
				return
			}
			if got := r.Reports(nil)[0].CountRefused(); got != test.refused {
				t.Errorf("%d items are refused, want %d", got, test.refused)
			}
		})
	}
}
