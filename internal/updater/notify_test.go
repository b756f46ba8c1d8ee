package updater

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/notify"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/advisorytest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web"
)

// TestNewAdvisoriesAreNotified checks the notifications of a real sweep. The first match of a
// deployment sends none; later published advisories do.
func TestNewAdvisoriesAreNotified(t *testing.T) {
	c := advisoriesUpdateCmd{}
	c.Data = t.TempDir()
	st := advisorytest.OpenData(t, c.Data)
	d := advisorytest.ManyRefs(t, st, 2)
	var rule model.NotificationRule
	err := st.Update(t.Context(), d.ID, model.Actor{}, func(ctx context.Context, tx *store.Tx) (err error) {
		rule, err = tx.AddNotificationRule(ctx, model.NotificationRule{
			Name: "news", Events: model.NotificationEvents(0).With(model.EventAdvisory), Channel: model.ChannelEmail, To: []string{"alice@example.com"}, Digest: model.DigestWeek,
		}, func(int64) ([]byte, error) { return []byte{}, nil })
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n := notify.New(notify.Config{Store: st, Index: index.New(st, index.Options{Clock: time.Now}), Filter: web.FindingFilter, Reach: scm.Reach{}, Clock: time.Now})
	records := map[string]string{}
	for _, step := range []struct {
		id   string
		want string // the title of the newest message
	}{
		{"A-1", ""},
		{"A-2", "New advisories affect dependencies in use: 1 finding (1 medium) in acme/shop"},
	} {
		records[step.id] = advisorytest.OSVRecord(step.id, "a", "1.0.0")
		file := filepath.Join(t.TempDir(), "all.zip")
		if err := command.ReplaceFile(file, advisorytest.Archive(t, records)); err != nil {
			t.Fatal(err)
		}
		c.From = []string{file}
		if out, err := c.output(t); err != nil {
			t.Fatal(out, err)
		}
		if got := newestNotification(t, st, d.ID, n, rule.ID); got.Title != step.want || got.Scan != 0 {
			t.Errorf("%s: told %q of scan %d, want %q", step.id, got.Title, got.Scan, step.want)
		}
	}
}

// newestNotification runs the pending notification jobs and returns the last message of a rule; zero for
// none.
func newestNotification(t *testing.T, st *store.Store, deployment int64, n *notify.Notifier, rule int64) (m model.NotificationMessage) {
	t.Helper()
	for {
		j, err := storetest.Claim(t.Context(), st, time.Minute, store.NotifyJob)
		if err == nil && j != nil {
			_, _, err = queue.Do(n.Match)(t.Context(), *j)
			err = errors.Join(err, st.FinishJob(t.Context(), *j, nil, ""))
		}
		if err != nil {
			t.Fatal(err)
		}
		if j == nil {
			break
		}
	}
	err := st.View(t.Context(), deployment, func(ctx context.Context, tx *store.Tx) error {
		list, _, err := tx.Notifications(ctx, store.NotificationQuery{RuleID: rule, Limit: 1})
		if len(list) > 0 {
			m = list[0].Message
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}
