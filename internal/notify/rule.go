package notify

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/netip"
	"reflect"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// rotationOverlap is the time during which a replaced secret still signs in addition to the new
// one.
const rotationOverlap = 24 * time.Hour

// newSecret returns a secret of 32 bytes in the format of Standard Webhooks.
func newSecret() string {
	var random [32]byte
	_, _ = rand.Read(random[:]) // never fails
	return secretPrefix + base64.StdEncoding.EncodeToString(random[:])
}

// bound returns the additional data of a rule's encrypted target: it decrypts for no other rule.
func bound(deploymentID int64, r model.NotificationRule) []byte {
	return fmt.Appendf(nil, "deployment %d, notification rule %d, %s", deploymentID, r.ID, r.Channel)
}

func (n *Notifier) seal(deploymentID int64, r model.NotificationRule, t model.NotificationTarget) ([]byte, error) {
	if r.Channel == model.ChannelEmail {
		return []byte{}, nil
	}
	text, err := json.Marshal(t)
	if err != nil {
		return nil, err
	}
	return n.Sealer.Seal(nil, nil, text, bound(deploymentID, r)), nil
}

// open decrypts the target of a rule. The error omits its cause, which may contain decrypted bytes.
func (n *Notifier) open(deploymentID int64, r model.NotificationRule) (t model.NotificationTarget, err error) {
	text, err := n.Sealer.Open(nil, nil, r.Target, bound(deploymentID, r))
	if err == nil {
		err = json.Unmarshal(text, &t)
	}
	if err != nil {
		return model.NotificationTarget{}, fmt.Errorf("the address of %s cannot be decrypted with the keys of this "+
			"server: restore the key file from the backup, or enter the address again", r.Name)
	}
	return t, nil
}

// Hide encrypts a secret of a response that may be stored for repeated requests.
func (n *Notifier) Hide(deploymentID int64, secret string) string {
	if secret == "" {
		return ""
	}
	return base64.StdEncoding.EncodeToString(n.Sealer.Seal(nil, nil, []byte(secret), hidden(deploymentID)))
}

// Show decrypts the result of Hide.
func (n *Notifier) Show(deploymentID int64, text string) (string, error) {
	if text == "" {
		return "", nil
	}
	sealed, err := base64.StdEncoding.DecodeString(text)
	if err == nil {
		sealed, err = n.Sealer.Open(nil, nil, sealed, hidden(deploymentID))
	}
	return string(sealed), err
}

func hidden(deploymentID int64) []byte {
	return fmt.Appendf(nil, "deployment %d, told secret", deploymentID)
}

// check validates a rule, and its address unless that is empty.
func (n *Notifier) check(ctx context.Context, tx *store.Tx, r *model.NotificationRule, address string) error {
	if err := model.CheckNotificationRule(*r); err != nil {
		return err
	}
	with, err := viewed(ctx, tx, *r)
	if err == nil {
		err = n.read(with)
	}
	if err != nil {
		return err
	}
	switch {
	case r.Channel == model.ChannelEmail && address != "":
		return model.Invalid("url", "not used for e-mail: set the recipients in the field to")
	case r.Channel == model.ChannelEmail && !n.Mail.Works():
		return model.Invalid("channel", "this server sends no e-mail: an administrator of the server must set "+
			"--smtp-host and --smtp-from")
	case r.Channel == model.ChannelEmail || address == "":
		return nil
	}
	u, err := model.CheckNotificationURL(address)
	if err != nil {
		return err
	}
	if a, err := netip.ParseAddr(u.Hostname()); err == nil && !n.Reach.Allows(a) {
		return model.Invalid("url", "notifications to %s are not allowed: an administrator of the server can allow "+
			"them with --notify-to", u.Hostname())
	}
	r.Host = u.Host
	return nil
}

// Add creates a rule with an address. It returns the signing secret of a webhook, which is shown
// only once. An invalid rule is a *model.InvalidError.
func (n *Notifier) Add(
	ctx context.Context, tx *store.Tx, r model.NotificationRule, address string,
) (model.NotificationRule, string, error) {
	if r.Channel != model.ChannelEmail && address == "" {
		return r, "", model.Invalid("url", "missing address of the receiver")
	}
	if err := n.check(ctx, tx, &r, address); err != nil {
		return r, "", err
	}
	target := model.NotificationTarget{URL: address}
	if r.Channel == model.ChannelWebhook {
		target.Secret = newSecret()
	}
	made, err := tx.AddNotificationRule(ctx, r, func(id int64) ([]byte, error) {
		r.ID = id
		return n.seal(tx.Deployment().ID, r, target)
	})
	return made, target.Secret, err
}

// Change updates a rule, and its address unless that is empty. The channel and the secret are
// unchanged.
func (n *Notifier) Change(
	ctx context.Context, tx *store.Tx, r model.NotificationRule, address string,
) (model.NotificationRule, error) {
	before, err := tx.NotificationRule(ctx, r.ID)
	if err != nil {
		return r, err
	}
	r.Channel, r.Host = before.Channel, before.Host
	if !pauses(before, r, address) {
		if err := n.check(ctx, tx, &r, address); err != nil {
			return r, err
		}
	}
	if before.Paused && !r.Paused {
		r.Problem = ""
	}
	var sealed []byte
	if address != "" {
		target, err := n.open(tx.Deployment().ID, before)
		if err != nil { // the unreadable target is replaced
			target = model.NotificationTarget{}
			if r.Channel == model.ChannelWebhook {
				return r, model.Invalid("url", "%s: create another rule", err.Error())
			}
		}
		target.URL = address
		if sealed, err = n.seal(tx.Deployment().ID, r, target); err != nil {
			return r, err
		}
	}
	return tx.UpdateNotificationRule(ctx, r, sealed)
}

// pauses reports whether a change only pauses a rule. Such a change is always accepted, even if the
// filter or the mail server became invalid.
func pauses(before, after model.NotificationRule, address string) bool {
	before.Paused = after.Paused
	return after.Paused && address == "" && reflect.DeepEqual(before, after)
}

// Rotate replaces the secret of a rule's webhook and returns the new one. The old secret signs as
// well for a day.
func (n *Notifier) Rotate(ctx context.Context, tx *store.Tx, id int64) (model.NotificationRule, string, error) {
	r, err := tx.NotificationRule(ctx, id)
	if err != nil {
		return r, "", err
	}
	if r.Channel != model.ChannelWebhook {
		return r, "", fmt.Errorf("only webhooks are signed, and this rule uses the channel %s: %w",
			r.Channel, model.ErrConflict)
	}
	target, err := n.open(tx.Deployment().ID, r)
	if err != nil {
		return r, "", err
	}
	target.Before, target.BeforeUntil, target.Secret = target.Secret, tx.Now().Add(rotationOverlap), newSecret()
	sealed, err := n.seal(tx.Deployment().ID, r, target)
	if err != nil {
		return r, "", err
	}
	r, err = tx.UpdateNotificationRule(ctx, r, sealed)
	return r, target.Secret, err
}

// productsOf returns the issue types of a rule.
func productsOf(r model.NotificationRule) (list []model.IssueType) {
	for _, t := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		if r.Products == 0 || r.Products.Has(t) {
			list = append(list, t)
		}
	}
	return list
}

// cut returns the beginning of a text on one line.
func cut(s string, most int) string {
	return model.Shorten(model.Line(strings.Join(strings.Fields(s), " ")), most)
}
