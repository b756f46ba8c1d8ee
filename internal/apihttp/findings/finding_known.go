package findings

import (
	"time"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
)

// unlessKnown tags a list of findings, by the version of the deployment that it was made of, by what a saved view
// that it is of means just now, and by the days in UTC on which it was asked for and made: what is overdue changes
// with these, and modes with the end of days of grace. Where the client has it, the answer is notModified in its
// place.
func unlessKnown(c *core.Call, view *index.View, in *findingsInput, list core.Writer) core.Writer {
	if c.Known([]any{
		view.Version(), view.Today(), view.GraceEnded(),
		in.now.UTC().Format(time.DateOnly), in.meant(view), c.Caller.Token.UserID,
	}) {
		return core.NotModified{}
	}
	return list
}

// meant is what a saved view selects, as it stands in the tag of its list; nil without a
// view. Beside its words that is what these stand for: who looks, the names of a
// vulnerability, which all deployments share, and windows that move with the time. Of the
// last it is what they let through: a tag that changed each moment would be of no use.
func (in *findingsInput) meant(view *index.View) any {
	if in.View == 0 {
		return nil
	}
	f := in.filter
	f.Since, f.EndsBy = time.Time{}, time.Time{}
	return []any{in.saved, f, in.order, view.Window(in.filter)}
}
