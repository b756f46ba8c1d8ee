package tools

import (
	"cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
)

// gitleaksFinding is an entry of gitleaks' list. It results in the same finding, rule and identity
// as gitleaks' SARIF.
type gitleaksFinding struct {
	Rule        read.Text   `json:"RuleID"`
	Description read.Text   `json:"Description"`
	StartLine   read.Number `json:"StartLine"`
	EndLine     read.Number `json:"EndLine"`
	StartColumn read.Number `json:"StartColumn"`
	EndColumn   read.Number `json:"EndColumn"`
	Match       read.Text   `json:"Match"`
	Secret      read.Text   `json:"Secret"`
	File        read.Text   `json:"File"`
	Symlink     read.Text   `json:"SymlinkFile"`
	Commit      read.Text   `json:"Commit"`
}

// ReadGitleaks reads gitleaks' JSON, a list of findings.
func ReadGitleaks(in *format.Input, o format.Options) ([]*model.Report, error) {
	n := newNative(in, o, "gitleaks")
	if err := n.Array("findings", items(n, n.gitleaks)); err != nil {
		return nil, err
	}
	return n.finish(model.Secrets)
}

func (n *native) gitleaks(item string, f *gitleaksFinding) {
	n.leaked(leak{
		item: item, path: string(cmp.Or(f.Symlink, f.File)), raw: string(cmp.Or(f.Secret, f.Match)), commit: f.Commit,
		rule: model.Rule{Name: f.Rule.Name(), Message: f.Description.Block()},
		location: model.Location{
			Line: int(f.StartLine), Column: int(f.StartColumn), EndLine: int(f.EndLine), EndColumn: int(f.EndColumn),
		},
	})
}
