package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Limits of undecided requests, which need no authentication.
const (
	maxLogins        = 1000
	maxLoginsOfOne   = 20 // per network, see model.Network
	PendingLogin     = 0  // the deployment of an undecided request
	loginCodeMissing = "no token request with the code %.40q: it may have expired (after %s) or be decided; " +
		"start semgrep login or the program that showed the code again: %w"
)

const loginSelect = `SELECT key_hash, code, deployment_id, address, agent, asked_at, expires_at, token_json, ` +
	`approved_json, program_json FROM login_request `

func scanLogin(r sqldb.Row) (l model.LoginRequest, err error) {
	return l, r.Scan(&l.KeyHash, &l.Code, &l.DeploymentID, &l.Address, &l.Agent, sqldb.Instant(&l.RequestedAt),
		sqldb.Instant(&l.ExpiresAt),
		sqldb.DecodedIfAny(&l.Token), sqldb.DecodedIfAny(&l.ApprovedBy), sqldb.DecodedIfAny(&l.Program))
}

// LoginByKey returns the unexpired request with the hash of a key, decided or not.
func (s *DB) LoginByKey(ctx context.Context, keyHash []byte) (l model.LoginRequest, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		l, err = sqldb.One(ctx, q, scanLogin, loginSelect+`WHERE key_hash = $1 AND expires_at > $2`, keyHash, s.Now())
		return err
	})
	return l, err
}

// AddLogin stores a new request with its hash, code, address, agent and program, and deletes
// expired ones. A known request stays unchanged. It belongs to no tenant yet, so there is no audit
// event.
//
// It is rejected if 20 requests of its network are waiting. If 1,000 are waiting in total, it
// replaces the oldest of the wider network with the most requests, unless its own network has as
// many. An attacker with many networks therefore cannot lock out others. A scanner whose request
// was replaced adds it again with its next poll. Requests from networks with a signed-in user are
// replaced only by such requests.
func (s *DB) AddLogin(ctx context.Context, l model.LoginRequest) (stored bool, err error) {
	now := s.Now()
	err = s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if err := q.Write(ctx, `DELETE FROM login_request WHERE expires_at <= $1`, now); err != nil {
			return err
		}
		waiting, err := sqldb.Many(ctx, q, func(r sqldb.Row) (l model.LoginRequest, err error) {
			return l, r.Scan(&l.KeyHash, &l.Address)
		},
			`SELECT key_hash, address FROM login_request WHERE deployment_id = $1 ORDER BY asked_at, code`, PendingLogin)
		if err != nil {
			return err
		}
		line := loginLine{waiting: waiting}
		if len(waiting) >= maxLogins {
			if line.familiar, err = familiarNetworks(ctx, q, now); err != nil {
				return err
			}
		}
		accepted, gone := line.accepts(l.Address)
		if !accepted {
			return nil
		}
		if gone != nil {
			if err := q.Write(ctx, `DELETE FROM login_request WHERE deployment_id = $1 AND key_hash = $2`,
				PendingLogin, gone); err != nil {
				return err
			}
		}
		stored = true
		return q.Insert(ctx, PendingLogin, `login_request (deployment_id, key_hash, code, address, agent, asked_at, `+
			`expires_at, token_json, approved_json, program_json)`,
			[][]any{{l.KeyHash, l.Code, l.Address, l.Agent, now, now.Add(model.LoginFor), "", "", sqldb.Encoded(l.Program)}},
			`ON CONFLICT DO NOTHING`)
	})
	return stored && err == nil, err
}

// loginImage is the content of audit events about a decision.
type loginImage struct {
	Code    string      `json:"code"`
	Address string      `json:"address"`
	Agent   string      `json:"agent"`
	Program string      `json:"program,omitempty"`
	Token   *tokenImage `json:"token,omitempty"` // nil if access was denied
}

// WaitingLogin returns the undecided request with a code. It belongs to no deployment yet, so users
// of any deployment can read it.
func (tx *Tx) WaitingLogin(ctx context.Context, code string) (model.LoginRequest, error) {
	// $1 must occur, although an undecided request has no tenant.
	l, err := sqldb.One(ctx, tx, scanLogin,
		loginSelect+`WHERE deployment_id IN (0, $1) AND deployment_id = 0 AND code = $2 AND expires_at > $3`, code, tx.Now())
	if errors.Is(err, model.ErrNotFound) {
		err = fmt.Errorf(loginCodeMissing, code, model.LoginFor, err)
	}
	return l, err
}

// ApproveLogin allows the requester to fetch the described token of this deployment. A decided or
// expired request is model.ErrNotFound. If the token's user has reached the limit of tokens or
// grants, it returns model.ErrConflict or a *model.InvalidError, and the request stays undecided.
func (tx *Tx) ApproveLogin(ctx context.Context, l model.LoginRequest, token model.Token) error {
	if err := tx.checkLoginLimit(ctx, token.UserID); err != nil {
		return err
	}
	if l.ByProgram() {
		if err := tx.checkGrantLimit(ctx, token.UserID); err != nil {
			return err
		}
	}
	token.DeploymentID = tx.Deployment().ID
	image := imageOfToken(token)
	return tx.decideLogin(ctx, l, "login.approve", token, &image)
}

// DenyLogin rejects an undecided request. A decided or expired one is model.ErrNotFound.
func (tx *Tx) DenyLogin(ctx context.Context, l model.LoginRequest) error {
	return tx.decideLogin(ctx, l, "login.deny", model.Token{}, nil)
}

// decideLogin assigns an undecided request to this deployment.
func (tx *Tx) decideLogin(
	ctx context.Context, l model.LoginRequest, action string, token model.Token, image *tokenImage,
) error {
	n, err := tx.Exec(ctx, `UPDATE login_request SET deployment_id = $1, token_json = $3, approved_json = $4 WHERE `+
		`deployment_id = 0 AND key_hash = $2 AND expires_at > $5`,
		l.KeyHash, sqldb.Encoded(token), sqldb.Encoded(tx.Actor()), tx.Now())
	if err == nil && n == 0 { // decided or expired meanwhile
		err = fmt.Errorf(loginCodeMissing, l.Code, model.LoginFor, model.ErrNotFound)
	}
	if err == nil {
		tx.Audit(action, sqldb.Subject("deployment", tx.Deployment().ID), nil, loginImage{
			l.Code, l.Address, l.Agent, l.Program.Name, image,
		})
	}
	return err
}

// checkLoginLimit returns an error if one more token would exceed a user's limit.
func (tx *Tx) checkLoginLimit(ctx context.Context, userID int64) error {
	if userID == 0 {
		return nil
	}
	approved, err := tx.approvedLogins(ctx, userID)
	if err != nil {
		return err
	}
	list, err := tx.tokensOf(ctx, userID)
	if err != nil {
		return err
	}
	list = slices.DeleteFunc(list, func(t model.Token) bool { return t.Ended(tx.Now()) })
	if len(list)+len(approved) < MaxTokens {
		return nil
	}
	return fmt.Errorf("you have reached the limit of %d tokens for one person, including approved requests that were "+
		"not fetched yet: revoke an unused token, then approve this request: %w",
		MaxTokens, model.ErrConflict)
}

// approvedLogins returns the approved requests of a user whose token was not fetched yet.
func (tx *Tx) approvedLogins(ctx context.Context, userID int64) ([]model.LoginRequest, error) {
	list, err := sqldb.Many(ctx, tx, scanLogin, loginSelect+`WHERE deployment_id = $1 AND expires_at > $2`, tx.Now())
	return slices.DeleteFunc(list, func(l model.LoginRequest) bool { return l.Token.UserID != userID }), err
}

// dropApprovedLogins deletes the approved requests of a user whose token was not fetched yet.
func (tx *Tx) dropApprovedLogins(ctx context.Context, userID int64) error {
	approved, err := tx.approvedLogins(ctx, userID)
	for _, l := range approved {
		if err == nil {
			err = tx.Write(ctx, `DELETE FROM login_request WHERE deployment_id = $1 AND key_hash = $2`, l.KeyHash)
		}
	}
	return err
}

// ConsumeLogin returns and deletes an approved request. The caller creates its token in the same
// transaction. Later calls return model.ErrNotFound.
func (tx *Tx) ConsumeLogin(ctx context.Context, keyHash []byte) (model.LoginRequest, error) {
	l, err := sqldb.One(
		ctx, tx, scanLogin, loginSelect+`WHERE deployment_id = $1 AND key_hash = $2 AND expires_at > $3`, keyHash, tx.Now(),
	)
	if err != nil {
		return l, err
	}
	err = tx.Write(ctx, `DELETE FROM login_request WHERE deployment_id = $1 AND key_hash = $2`, keyHash)
	return l, err
}

// Logins returns the undecided requests, oldest first.
func (s *DB) Logins(ctx context.Context) (list []model.LoginRequest, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.Many(
			ctx, q, scanLogin, loginSelect+`WHERE deployment_id = 0 AND expires_at > $1 ORDER BY asked_at, code`, s.Now(),
		)
		return err
	})
	return list, err
}
