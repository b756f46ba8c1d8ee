package ui

import "github.com/redoubt/redoubt/internal/model"

// PendingStatuses are the statuses of findings that need work.
var PendingStatuses = []model.Status{model.StatusOpen, model.StatusReviewing, model.StatusFixing}

// AssignedToViewer selects the pending findings of the viewer, each once.
func AssignedToViewer(req *Request, t model.IssueType) model.FindingFilter {
	return model.FindingFilter{IssueType: t, Dedup: true, Statuses: PendingStatuses, Assignees: []string{req.Viewer.User}}
}

// countMine returns the number of pending findings of the viewer in all products.
func countMine(req *Request) (n int, err error) {
	view, err := req.Findings()
	if err != nil {
		return 0, err
	}
	for _, p := range Products {
		n += view.Count(AssignedToViewer(req, p.Type))
	}
	return n, nil
}

// Product is one of the three findings pages.
type Product struct {
	Type    model.IssueType
	Path    string // below the deployment; the command line links to these paths
	Section string
	Title   string
	Noun    string // for one finding
}

// Products are the findings pages, in the order of their issue types.
var Products = []Product{
	{model.SAST, "/findings", "findings", "Code", "code finding"},
	{model.SCA, "/supply-chain/vulnerabilities", "vulnerabilities", "Supply chain", "vulnerability"},
	{model.Secrets, "/secrets", "secrets", "Secrets", "secret"},
}

// ProductOf returns the findings page of an issue type.
func ProductOf(t model.IssueType) Product { return Products[t-1] }

// AllFindings selects each finding of a product once.
func AllFindings(p Product) model.FindingFilter {
	return model.FindingFilter{IssueType: p.Type, Dedup: true}
}
