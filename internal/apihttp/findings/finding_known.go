package findings

import (
	"time"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
)

// unlessKnown sets the ETag of a list of findings and returns core.NotModified if the client has
// the list. The tag covers the deployment's version, the meaning of the saved view, and the days in
// UTC of the request and of the view. Overdue findings change with the day, and modes with the end
// of a grace period.
func unlessKnown(c *core.Call, view *index.View, in *findingsInput, list core.Writer) core.Writer {
	if c.Known([]any{
		view.Version(), view.Today(), view.GraceEnded(),
		in.now.UTC().Format(time.DateOnly), in.meant(view), c.Caller.Token.UserID,
	}) {
		return core.NotModified{}
	}
	return list
}

// meant returns the meaning of a saved view for the ETag of its list; nil without a view. It covers
// the text of the view and its context: the user, the aliases of vulnerabilities, which all
// deployments share, and time windows. Windows are represented by their contents, because their
// bounds change all the time.
func (in *findingsInput) meant(view *index.View) any {
	if in.View == 0 {
		return nil
	}
	f := in.filter
	f.Since, f.EndsBy = time.Time{}, time.Time{}
	return []any{in.saved, f, in.order, view.Window(in.filter)}
}
