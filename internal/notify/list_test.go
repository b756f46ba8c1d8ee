package notify

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt"
)

// TestLinksSayWhatTheyList: a findings page without a query opens as whoever looks has
// chosen, which may be a view without what a message is about.
func TestLinksSayWhatTheyList(t *testing.T) {
	for _, c := range []struct {
		issueType      redoubt.IssueType
		assignee, want string
	}{
		{redoubt.SAST, "", "/findings?status=open"},
		{redoubt.SCA, "", "/supply-chain/vulnerabilities?status=open"},
		{redoubt.Secrets, "", "/secrets?status=open"},
		{redoubt.SAST, "ada & co", "/findings?assignees=ada+%26+co"},
		{0, "", "/overview"},
	} {
		p := picture{count: 2, product: c.issueType}
		m := p.message(redoubt.Happening{Event: redoubt.EventAssigned, Assignee: c.assignee}, redoubt.NotificationRule{}, time.Unix(0, 0))
		if m.Path != c.want {
			t.Errorf("%v of %q leads to %s, want %s", c.issueType, c.assignee, m.Path, c.want)
		}
	}
}
