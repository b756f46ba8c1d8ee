package hosts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
)

// webhooks is the path prefix of webhooks. A deployment id and a connection id follow.
const webhooks = "/api/webhooks"

// webhookJob is the input of a job that processes a webhook.
type webhookJob struct {
	Delivery   int64     `json:"delivery"`
	Connection int64     `json:"connection"`
	Event      scm.Event `json:"event"`
}

// Rate limit of webhooks of one address: requests a second, and the burst allowed when many
// repositories receive pushes at once.
const webhookRate, webhookBurst = 10, 500

// Routes returns the route that receives webhooks.
func (k *Service) Routes() []httpx.Mounted {
	limiter := auth.NewLimiter(webhookRate, webhookBurst, k.Clock)
	return []httpx.Mounted{{
		Route: httpx.Row(http.MethodPost, webhooks+"/{deploymentId}/{connectionId}", httpx.Anyone, model.RoleNone,
			httpx.Writes, httpx.Unbound),
		Handle: func(w http.ResponseWriter, r *http.Request, _ auth.Caller) error {
			if g := limiter.Allow(model.Network(httpx.OriginOf(r).Address)); !g.OK {
				return httpx.Busy(g, "Too many requests from this address.")
			}
			return k.handleWebhook(w, r)
		},
	}}
}

// handleWebhook verifies the signature, stores the delivery and enqueues a job. An unknown
// connection and an invalid signature return the same error.
func (k *Service) handleWebhook(w http.ResponseWriter, r *http.Request) error {
	unknown := fmt.Errorf("unknown connection or invalid webhook signature: %w", model.ErrNotFound)
	deployment, err := strconv.ParseInt(r.PathValue("deploymentId"), 10, 64)
	if err != nil {
		return unknown
	}
	id, err := strconv.ParseInt(r.PathValue("connectionId"), 10, 64)
	if err != nil {
		return unknown
	}
	c, err := k.connection(r.Context(), deployment, id)
	if errors.Is(err, model.ErrNotFound) {
		return unknown
	}
	if err != nil {
		return err
	}
	secret, err := k.Vault.OpenWebhook(deployment, c)
	if err != nil {
		return unknown
	}
	e, body, err := k.read(r, c, secret)
	if errors.Is(err, scm.ErrSignature) {
		k.Logger.InfoContext(r.Context(), "webhook rejected", "deployment", deployment, "connection", id, "cause", err)
		return unknown
	}
	if err != nil {
		return err
	}
	if err := k.storeDelivery(r.Context(), deployment, c, e, body); err != nil {
		return err
	}
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// storeDelivery stores a delivery and enqueues its job in one transaction. The delivery id of the
// host is not signed, so the delivery is identified by a hash of its name and body.
func (k *Service) storeDelivery(
	ctx context.Context, deploymentID int64, c model.Connection, e scm.Event, body []byte,
) error {
	sum := sha256.Sum256(append([]byte(e.Name+"\n"), body...))
	return k.Store.Update(ctx, deploymentID, following, func(ctx context.Context, tx *store.Tx) error {
		d, err := tx.AddDelivery(ctx, store.Delivery{
			ConnectionID: c.ID, Delivery: hex.EncodeToString(sum[:]), Event: e.Name, Repository: e.Repository,
			CodeEvent: e.Kind == scm.EventPush || e.Kind == scm.EventChange, HeadCommit: e.Commit,
		})
		if err != nil {
			return err
		}
		if nothing, err := k.nothingIn(ctx, tx, c, e); err != nil || nothing != "" {
			return errors.Join(err, tx.FinishDelivery(ctx, d.ID, nothing))
		}
		input, err := json.Marshal(webhookJob{d.ID, c.ID, e})
		if err != nil {
			return err
		}
		before, err := tx.QueueWebhook(ctx, c, subjectOf(e), input)
		if err != nil || before == nil {
			return err
		}
		var instead webhookJob
		if err := json.Unmarshal(before, &instead); err != nil {
			return err
		}
		return tx.FinishDelivery(ctx, instead.Delivery, "superseded by a newer webhook")
	})
}

// nothingIn returns the reason why an event requires no job, or "" if it may require one.
func (k *Service) nothingIn(ctx context.Context, tx *store.Tx, c model.Connection, e scm.Event) (string, error) {
	switch e.Kind {
	case scm.EventOther:
		return "no action required", nil
	case scm.EventRepository:
		return "", nil
	case scm.EventComment:
		if c.Replies == model.RepliesOff {
			return "ignored: the connection accepts no commands", nil
		}
	case scm.EventPush:
		if e.Commit == "" {
			return "ignored: the branch was deleted", nil
		}
	case scm.EventChange:
	}
	r, err := tx.RepositoryByHostID(ctx, c.ID, e.Repository)
	switch {
	case errors.Is(err, model.ErrNotFound) || err == nil && r.ProjectID == 0:
		return "the repository is not a project", nil
	case err != nil || e.Kind != scm.EventPush:
		return "", err
	}
	branch, err := k.watched(ctx, tx, r)
	if err == nil && branch != e.Branch {
		return "ignored: pushes to " + e.Branch + " are not scanned", nil
	}
	return "", err
}

// subjectOf returns the subject of an event. Only the newest event of a subject is processed: it is
// a trigger, and its job queries the host for the current state.
func subjectOf(e scm.Event) string {
	return fmt.Sprintf("%d %s %d %s", e.Kind, e.Repository, e.Number, e.Branch)
}

// ProcessWebhook runs a store.WebhookJob: it processes a webhook.
func (k *Service) ProcessWebhook(ctx context.Context, j model.Job, in webhookJob) error {
	c, err := k.connection(ctx, j.DeploymentID, in.Connection)
	if errors.Is(err, model.ErrNotFound) {
		return queue.PermanentError{Reason: "the connection was deleted"}
	}
	if err != nil {
		return err
	}
	hostCtx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	outcome, err := k.act(hostCtx, j.DeploymentID, c, in)
	if errors.Is(err, model.ErrNotFound) || refused(err) {
		outcome, err = err.Error(), nil
	}
	if err != nil {
		return k.delayedJobError(j, err)
	}
	return k.Store.Update(ctx, j.DeploymentID, following, func(ctx context.Context, tx *store.Tx) error {
		return tx.FinishDelivery(ctx, in.Delivery, model.Line(outcome))
	})
}

// act processes an event and describes the outcome.
func (k *Service) act(ctx context.Context, deploymentID int64, c model.Connection, in webhookJob) (string, error) {
	if in.Event.Kind == scm.EventRepository {
		_, err := k.Check(ctx, deploymentID, following, in.Connection)
		return "repository list updated", err
	}
	var r model.Repository
	err := k.Store.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		r, err = tx.RepositoryByHostID(ctx, c.ID, in.Event.Repository)
		return err
	})
	switch {
	case errors.Is(err, model.ErrNotFound) || err == nil && r.ProjectID == 0:
		return "the repository is not a project", nil
	case err != nil:
		return "", err
	}
	h, err := k.host(deploymentID, c)
	if err != nil {
		return "", err
	}
	if in.Event.Kind == scm.EventPush {
		return k.checkBranch(ctx, deploymentID, h, r, true)
	}
	change, err := h.ChangeRequest(ctx, r, in.Event.Number)
	if err != nil {
		return "", err
	}
	if in.Event.Kind == scm.EventComment {
		n, err := k.replies(ctx, deploymentID, c, h, r, change)
		return fmt.Sprintf("%d replies to change request %d", n, change.Number), err
	}
	return fmt.Sprintf("change request %d is %s", change.Number, change.State), k.Store.Update(ctx, deploymentID,
		following, func(ctx context.Context, tx *store.Tx) error {
			_, err := k.recordChangeRequest(ctx, tx, r, change)
			return err
		})
}
