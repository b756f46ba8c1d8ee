package ingest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// vexFirst puts documents before reports, which they may speak of.
func vexFirst(reports []*redoubt.Report) []*redoubt.Report {
	sorted := slices.Clone(reports)
	slices.SortStableFunc(sorted, func(a, b *redoubt.Report) int {
		switch {
		case a.OnlyVEX() == b.OnlyVEX():
			return 0
		case a.OnlyVEX():
			return -1
		}
		return 1
	})
	return sorted
}

// putVEX holds the documents of the upload for its project. One that came with
// the primary branch, or with no ref at all, is for all refs; one of another ref
// is for that alone, so that a change request hides nothing elsewhere. What an
// SBOM says is replaced by what the next one of its source says, also where
// that is nothing. A document that is one too many is refused alone.
func (a *application) putVEX(ctx context.Context) error {
	for _, d := range a.documents() {
		var strange redoubt.Refusals
		d.Statements, strange = ownStatements(d.Statements, a.project)
		a.sum.RefuseAll(strange)
		if a.upload.Strict && strange.CountRefused() > 0 {
			return invalidItems(strange)
		}
		receipt, err := a.exemptions.PutVEX(ctx, d)
		if invalid, ok := errors.AsType[*redoubt.InvalidError](err); ok { // one too many: what scanners found counts all the same
			if err = a.refuseVEX(d, invalid); err == nil {
				continue
			}
		}
		if err != nil {
			return err
		}
		if receipt.Outcome == redoubt.VEXProposed {
			a.upload.notDecided("VEX document " + d.Name)
		}
		if len(a.upload.Report.VEX) > 0 || receipt.Outcome == redoubt.VEXWithdrawn {
			a.sum.VEX = append(a.sum.VEX, receipt)
		}
	}
	return nil
}

// refuseVEX tells that a document is not held, unless nothing may be refused.
func (a *application) refuseVEX(d redoubt.VEXDocument, why *redoubt.InvalidError) error {
	refused := redoubt.Refusals{}
	refused.Refuse(redoubt.Refusal{Item: "VEX document " + d.Name, Reason: why.Fields[0].Message})
	if a.upload.Strict {
		return invalidItems(refused)
	}
	a.sum.RefuseAll(refused)
	return nil
}

// notDecided notes on the scan what its sender may not decide.
func (u *Upload) notDecided(what string) {
	u.Report.Gaps = append(u.Report.Gaps, redoubt.ScanGap{Kind: redoubt.GapItem, What: what, Why: "only proposed: the token that sent it may not triage"})
}

// documents are those of the upload as they are to be held.
func (a *application) documents() []redoubt.VEXDocument {
	r := a.upload.Report
	list := slices.Clone(r.VEX)
	said := slices.ContainsFunc(list, func(d redoubt.VEXDocument) bool { return d.Name == "" })
	if !said && a.scan.Full && !r.Failed && r.Inventories != nil {
		list = append(list, redoubt.VEXDocument{})
	}
	for i := range list {
		d := &list[i]
		if d.Name == "" {
			d.Name = "SBOM of " + a.scan.Source
			if d.IssuedAt = r.StartedAt; d.IssuedAt.IsZero() {
				d.IssuedAt = a.scan.StartedAt
			}
		}
		d.ProjectID, d.Ref, d.Proposed = a.project.ID, a.scan.Ref, !a.upload.Decides
		if d.Ref == a.project.Primary() || d.Ref == redoubt.FullRef("") {
			d.Ref = ""
		}
	}
	return list
}

// ownStatements are those that are about the project, and tells of the others.
func ownStatements(list []redoubt.VEXStatement, p redoubt.Project) (own []redoubt.VEXStatement, strange redoubt.Refusals) {
	own = make([]redoubt.VEXStatement, 0, len(list))
	for i := range list {
		s := &list[i]
		if len(s.Product) > 0 && !s.Sole && !slices.ContainsFunc(s.Product, p.IsCalled) {
			strange.Refuse(redoubt.Refusal{Item: "VEX statement of " + s.Names[0], Reason: fmt.Sprintf(
				"its product %s is not known to be %s, and the document speaks of several products", strings.Join(s.Product, ", "), p.Name)})
			continue
		}
		own = append(own, *s)
	}
	return own, strange
}
