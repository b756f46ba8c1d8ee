package lifetest

import (
	"slices"

	"github.com/redoubt/redoubt"
)

// closes: the scan looked where the finding was, and may say so.
func closes(u Upload, f *Finding) bool {
	if f.State == redoubt.Muted && u.Report.HidesMuted && !gone(u, f.Path) {
		return false
	}
	return !u.Report.Failed && !out(u, f) && looked(u, f) && (u.Full || !f.SeenByFull)
}

// out: the finding's rule or path is no longer in the policy of a full scan.
func out(u Upload, f *Finding) bool {
	return !u.Report.Failed && u.Full && u.OutOfPolicy != nil && u.OutOfPolicy(f.Rule, f.Path)
}

// looked: the rule ran, and the path was searched or is gone.
func looked(u Upload, f *Finding) bool { return ran(u, f) && told(u, f) }

func ran(u Upload, f *Finding) bool {
	if u.Report.RulesRun == nil {
		return u.DeclaredFull || u.Report.Searched != nil
	}
	return rulesOf(u)[f.Rule]
}

func told(u Upload, f *Finding) bool {
	if f.Package != "" && slices.Contains(u.Report.Unresolved, f.Path) {
		return false
	}
	return (u.Report.Searched != nil || u.DeclaredFull) && !slices.Contains(u.Report.Skipped, f.Path)
}

// covered: how much of the file the scan could read.
func covered(u Upload, s Sighting) string {
	if u.Report.Failed || slices.Contains(u.Report.Skipped, s.Path) {
		return "partly"
	}
	return ""
}

// mayHaveLooked: nothing says that the rule did not run or the file was not read.
func mayHaveLooked(u Upload, f *Finding) bool {
	path := u.Report.Failed || u.Report.Searched == nil && !u.DeclaredFull || !gone(u, f.Path)
	return (u.Report.RulesRun == nil || rulesOf(u)[f.Rule]) && path && (u.Full || !f.SeenByFull)
}

func rulesOf(u Upload) map[string]bool {
	out := map[string]bool{}
	for _, r := range u.Report.RulesRun {
		out[r] = true
	}
	for _, r := range u.Report.Results {
		out[r.Rule.Name] = true
	}
	return out
}

func gone(u Upload, path string) bool {
	return !slices.Contains(u.Report.Searched, path) && !slices.Contains(u.Report.Skipped, path) &&
		!slices.ContainsFunc(u.Report.Results, func(r redoubt.Result) bool { return r.Path == path })
}
