package exceptions

import (
	"cmp"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
)

// claim is a VEX statement on a vulnerability.
type claim struct{ model.VEXClaim }

// claimed returns the most cautious of the claims that apply to the occurrences. It is nil if an
// occurrence has no claim, so that a claim does not hide occurrences elsewhere.
func claimed(p model.Project, active []*model.ExceptionOccurrence) (best *claim) {
	for _, o := range active {
		current := claimedOf(p, o)
		if current == nil {
			return nil
		}
		if best == nil || cmp.Or(current.caution()-best.caution(), current.order(best)) > 0 {
			best = current
		}
	}
	return best
}

// claimedOf returns the claim that applies to one occurrence, or nil.
func claimedOf(p model.Project, o *model.ExceptionOccurrence) (best *claim) {
	for _, vexClaim := range o.Claims {
		if c := (&claim{vexClaim}); c.covers(p, o) && (best == nil || c.order(best) > 0) {
			best = c
		}
	}
	return best
}

// covers reports whether the claim on the vulnerability applies to the occurrence.
func (c *claim) covers(p model.Project, o *model.ExceptionOccurrence) bool {
	d, s := c.Document, c.Statement
	if !isFor(d, p, o.Ref) || o.Package == "" {
		return false
	}
	sole := s.Sole && d.ProjectID != 0
	if len(s.Product) > 0 && !sole && !slices.ContainsFunc(s.Product, p.IsCalled) {
		return false
	}
	key := purl.VEXKey(o.Ecosystem, o.Package)
	return len(s.Packages) == 0 || slices.ContainsFunc(s.Packages, func(v model.VEXPackage) bool {
		return v.Key == key && (v.Version == "" || v.Version == purl.Version(key, o.Version))
	})
}

// isFor reports whether a document applies to a project and a ref.
func isFor(d *model.VEXDocument, p model.Project, ref string) bool {
	if d.ProjectID != 0 {
		return d.ProjectID == p.ID && (d.Ref == "" || d.Ref == ref)
	}
	return model.PolicyScope{Projects: d.Projects}.Covers(p)
}

// at returns the time of the claim. A time after the document's receipt counts as the time of
// receipt. Otherwise a wrong clock would take precedence forever.
func (c *claim) at() time.Time {
	at := c.Statement.At
	if at.IsZero() {
		at = c.Document.IssuedAt
	}
	if at.IsZero() || at.After(c.Document.ReceivedAt) {
		return c.Document.ReceivedAt
	}
	return at
}

// order is positive if c takes precedence over b. A claim for one project precedes one for many,
// then a newer one, then a more cautious one, then one of a later document.
func (c *claim) order(b *claim) int {
	own := func(c *claim) int { return min(1, int(c.Document.ProjectID)) }
	return cmp.Or(own(c)-own(b), c.at().Compare(b.at()), int(c.Statement.Status)-int(b.Statement.Status),
		cmp.Compare(c.Document.ID, b.Document.ID))
}

// caution ranks the triage that results from a claim: the less it hides, the higher.
func (c *claim) caution() int {
	switch c.Statement.Triage().State {
	case model.TriageIgnored:
		return 0
	case model.TriageReviewing:
		return 1
	case model.TriageFixing:
		return 2
	}
	return 3
}

// note returns the line for a claim in the triage history.
func (c *claim) note() string {
	d, s := c.Document, c.Statement
	text := d.Format + " " + d.Name
	if d.Author != "" {
		text += " by " + d.Author
	}
	text += " of " + c.at().UTC().Format(time.DateOnly) + ": "
	if s.Status == model.VEXUnclaimed {
		text += s.Triage().State.String()
	} else {
		text += s.Status.String()
	}
	if s.Justification != "" {
		text += ", " + s.Justification
	}
	if s.Detail != "" {
		text += ". " + s.Detail
	}
	return model.Shorten(text, model.MaxNote)
}
