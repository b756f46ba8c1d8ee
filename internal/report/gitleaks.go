package report

import "github.com/redoubt/redoubt"

// gitleaksFinding is one of the list that gitleaks writes. It is the same
// finding as in its SARIF, with the same rule and the same identity.
type gitleaksFinding struct {
	Rule        text   `json:"RuleID"`
	Description text   `json:"Description"`
	StartLine   number `json:"StartLine"`
	EndLine     number `json:"EndLine"`
	StartColumn number `json:"StartColumn"`
	EndColumn   number `json:"EndColumn"`
	Match       text   `json:"Match"`
	Secret      text   `json:"Secret"`
	File        text   `json:"File"`
	Symlink     text   `json:"SymlinkFile"`
	Commit      text   `json:"Commit"`
}

// readGitleaks reads gitleaks' JSON, a list of findings.
func readGitleaks(in *input, o Options) ([]*redoubt.Report, error) {
	n := newNative(in, o, "gitleaks")
	if err := n.array("findings", items(n, n.gitleaks)); err != nil {
		return nil, err
	}
	return n.finish(redoubt.Secrets)
}

func (n *native) gitleaks(item string, f *gitleaksFinding) {
	n.leaked(leak{
		item: item, path: string(firstOf(f.Symlink, f.File)), raw: string(firstOf(f.Secret, f.Match)), commit: f.Commit,
		rule: redoubt.Rule{Name: f.Rule.name(), Message: f.Description.block()},
		location: redoubt.Location{
			Line: int(f.StartLine), Column: int(f.StartColumn), EndLine: int(f.EndLine), EndColumn: int(f.EndColumn),
		},
	})
}
