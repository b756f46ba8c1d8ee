package notify

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// TestLinksContainQuery checks that links contain a query. A findings page without a query opens
// the user's default view, which may omit the findings of a message.
func TestLinksContainQuery(t *testing.T) {
	for _, c := range []struct {
		issueType      model.IssueType
		assignee, want string
	}{
		{model.SAST, "", "/findings?status=open"},
		{model.SCA, "", "/supply-chain/vulnerabilities?status=open"},
		{model.Secrets, "", "/secrets?status=open"},
		{model.SAST, "ada & co", "/findings?assignees=ada+%26+co"},
		{0, "", "/overview"},
	} {
		p := matchSummary{count: 2, product: c.issueType}
		m := p.message(model.Happening{Event: model.EventAssigned, Assignee: c.assignee}, model.NotificationRule{}, time.Unix(0, 0))
		if m.Path != c.want {
			t.Errorf("%v of %q leads to %s, want %s", c.issueType, c.assignee, m.Path, c.want)
		}
	}
}
