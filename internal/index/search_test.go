package index

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// BenchmarkSearch measures searches of a million findings with distinct messages and without cached
// results. The reference is one pass over the rows.
func BenchmarkSearch(b *testing.B) {
	const n = 1_000_000
	x := New(&talkative{bulk{n: n, version: 1}}, Options{})
	v, err := x.Deployment(context.Background(), tenant)
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range map[string]string{
		"in every finding": "user input", "in none": "no such words", "in one": "command_271828'", "one letter": "e", "over parts": "an attacker who controls it can run any command",
		"256 letters": strings.Repeat("an attacker who controls it can ", 8), "not ASCII": "Übergabe", "upper case": "DETECTED USER", "a path": "module_17/handlers",
	} {
		b.Run(name, func(b *testing.B) {
			s, p := v.d.state, v.d.state.parts[0]
			benchmarkAgainst(b, func() {}, func() { s.search(p, strings.ToLower(text), nil) }, func() {
				for i := range p.rows {
					if p.rows[i].id == 0 {
						b.Fatal("a row without an id")
					}
				}
			})
		})
	}
	b.Run("memory", func(b *testing.B) {
		for b.Loop() {
			b.ReportMetric(float64(v.d.state.size())/n, "B/finding")
		}
	})
}

// talkative is a bulk whose rules have no messages.
type talkative struct{ bulk }

func (s *talkative) Feed(ctx context.Context, id, since int64, handle func(*model.Batch) error) (int64, bool, error) {
	return s.bulk.Feed(ctx, id, since, func(b *model.Batch) error {
		for i := range b.Rules {
			b.Rules[i].Message = ""
		}
		for i := range b.Findings {
			f := &b.Findings[i]
			f.Path = fmt.Sprintf("src/services/module_%d/handlers/file_%d.py", f.ID%1000, f.ID%50_000)
			f.Body = fmt.Appendf(nil, `"rule_message":"Detected user input 'command_%d' that reaches a shell (rule %d). An attacker who controls it can run any command with the rights of `+
				`this service. Pass a list of arguments to 'run_%d' and leave shell=False, so that no shell reads the input. Außerdem: Ünïcode."`, f.ID, f.RuleID, f.ID%5000)
		}
		return handle(b)
	})
}
