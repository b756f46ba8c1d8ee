package notify

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// appendPersonal appends the personal mail about an event, one to each person concerned, independent
// of rules.
func (m *matcher) appendPersonal(ctx context.Context, key string, h model.Happening) error {
	if len(h.Persons) == 0 || !m.Mail.Works() {
		return nil
	}
	everything := model.NotificationRule{}
	p, err := m.summarize(ctx, h, everything)
	if err != nil || p.count == 0 {
		return err
	}
	for _, id := range h.Persons {
		to, err := m.mailTo(ctx, id)
		if err != nil {
			return err
		}
		if to == "" {
			continue
		}
		message := p.message(h, everything, m.at)
		message.Title, message.Person = p.personalTitle(h), id
		m.list = append(m.list, model.Notification{
			Receiver: model.NotificationReceiver{Address: to, Digest: model.DigestNone}, Key: key, Message: message, DueAt: m.at,
		})
	}
	return nil
}

// mailTo returns the mail address of a user of the deployment, or "" if the user gets no mail.
func (m *matcher) mailTo(ctx context.Context, id int64) (to string, err error) {
	err = m.Store.View(ctx, m.deployment, func(ctx context.Context, tx *store.Tx) error {
		member, err := tx.MemberByID(ctx, id)
		to = member.MailTo()
		if errors.Is(err, model.ErrNotFound) {
			to, err = "", nil
		}
		return err
	})
	return to, err
}

// commentExists reports whether a comment exists and was not withdrawn. Its text is read when it is
// sent.
func (m *matcher) commentExists(ctx context.Context, id int64) (exists bool, err error) {
	err = m.Store.View(ctx, m.deployment, func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.FindingComment(ctx, id)
		exists = err == nil && !c.Withdrawn()
		return gone(err)
	})
	return exists, err
}

// removed returns the summary of an exception request whose findings were deleted. Only its project
// can still be matched.
func (m *matcher) removed(
	ctx context.Context, h model.Happening, r model.NotificationRule,
) (p matchSummary, err error) {
	left, err := m.findings(ctx, h, model.NotificationRule{})
	if err != nil || left.count > 0 {
		return p, err
	}
	err = m.Store.View(ctx, m.deployment, func(ctx context.Context, tx *store.Tx) error {
		matches, err := m.matchesProject(ctx, tx, h.Event, r)
		if err == nil && matches(model.Project{Name: h.Project, Tags: h.Tags}) {
			p.count = max(len(h.Lineages.All()), 1)
			p.projects = map[string]int{h.Project: p.count}
		}
		return err
	})
	return p, err
}
