package web

import "github.com/redoubt/redoubt/internal/model"

// toDo are the statuses of findings that wait for somebody.
var toDo = []model.Status{model.StatusOpen, model.StatusReviewing, model.StatusFixing}

// mine selects what waits for the viewer, each finding once.
func mine(req *request, t model.IssueType) model.FindingFilter {
	return model.FindingFilter{IssueType: t, Dedup: true, Statuses: toDo, Assignees: []string{req.viewer.User}}
}

// countMine is how many findings wait for the viewer, in all products.
func countMine(req *request) (n int, err error) {
	view, err := req.findings()
	if err != nil {
		return 0, err
	}
	for _, p := range products {
		n += view.Count(mine(req, p.Type))
	}
	return n, nil
}

// product is one of the three findings pages.
type product struct {
	Type    model.IssueType
	Path    string // below the deployment; the command line links to these
	Section string
	Title   string
	Noun    string // of one finding of it
}

var products = []product{
	{model.SAST, "/findings", "findings", "Code", "code finding"},
	{model.SCA, "/supply-chain/vulnerabilities", "vulnerabilities", "Supply chain", "vulnerability"},
	{model.Secrets, "/secrets", "secrets", "Secrets", "secret"},
}

func productOf(t model.IssueType) product { return products[t-1] }

// every selects each finding of a product once.
func every(p product) model.FindingFilter {
	return model.FindingFilter{IssueType: p.Type, Dedup: true}
}
