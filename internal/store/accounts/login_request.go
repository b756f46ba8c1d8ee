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
	maxLoginsOfOne   = 20 // of one network: see model.Network
	PendingLogin     = 0  // the deployment of a request that is nobody's yet
	loginCodeMissing = "there is no request for a token with the code %.40q: it may have expired (after %s), or " +
		"somebody decided about it already; start semgrep login, or what else showed it, again: %w"
)

const loginSelect = `SELECT key_hash, code, deployment_id, address, agent, asked_at, expires_at, token_json, ` +
	`approved_json, program_json FROM login_request `

func scanLogin(r sqldb.Row) (l model.LoginRequest, err error) {
	return l, r.Scan(&l.KeyHash, &l.Code, &l.DeploymentID, &l.Address, &l.Agent, sqldb.Instant(&l.AskedAt),
		sqldb.Instant(&l.ExpiresAt),
		sqldb.DecodedIfAny(&l.Token), sqldb.DecodedIfAny(&l.ApprovedBy), sqldb.DecodedIfAny(&l.Program))
}

// LoginByKey finds the request that was made with a key, by its hash, decided about or
// not.
func (s *DB) LoginByKey(ctx context.Context, keyHash []byte) (l model.LoginRequest, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		l, err = sqldb.One(ctx, q, scanLogin, loginSelect+`WHERE key_hash = $1 AND expires_at > $2`, keyHash, s.Now())
		return err
	})
	return l, err
}

// AddLogin keeps a new request, whose hash, code, address, agent and program are given,
// and forgets those that have expired. One that is known is left as it is. It belongs to
// no tenant yet, so no audit event tells of it.
//
// It is not kept where 20 of one network wait already. Where 1,000 wait in all, it
// takes the place of the oldest of the wider networks that have most of them, unless
// its own has as many: however many networks are one attacker's, they do not lock a
// newcomer out. A scanner whose place was taken has it again when it asks next. Who asks
// from a network where somebody is signed in makes room for others from such alone.
func (s *DB) AddLogin(ctx context.Context, l model.LoginRequest) (kept bool, err error) {
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
		room, gone := line.roomFor(l.Address)
		if !room {
			return nil
		}
		if gone != nil {
			if err := q.Write(ctx, `DELETE FROM login_request WHERE deployment_id = $1 AND key_hash = $2`,
				PendingLogin, gone); err != nil {
				return err
			}
		}
		kept = true
		return q.Insert(ctx, PendingLogin, `login_request (deployment_id, key_hash, code, address, agent, asked_at, `+
			`expires_at, token_json, approved_json, program_json)`,
			[][]any{{l.KeyHash, l.Code, l.Address, l.Agent, now, now.Add(model.LoginFor), "", "", sqldb.Encoded(l.Program)}},
			`ON CONFLICT DO NOTHING`)
	})
	return kept && err == nil, err
}

// loginImage is what the audit trail tells of a decision.
type loginImage struct {
	Code    string      `json:"code"`
	Address string      `json:"address"`
	Agent   string      `json:"agent"`
	Program string      `json:"program,omitempty"`
	Token   *tokenImage `json:"token,omitempty"` // none where nobody was let in
}

// WaitingLogin returns the undecided request with a code. It belongs to no deployment yet, so
// that users of every deployment can find it.
func (tx *Tx) WaitingLogin(ctx context.Context, code string) (model.LoginRequest, error) {
	// $1 is the tenant, as everywhere.
	l, err := sqldb.One(ctx, tx, scanLogin,
		loginSelect+`WHERE deployment_id IN (0, $1) AND deployment_id = 0 AND code = $2 AND expires_at > $3`, code, tx.Now())
	if errors.Is(err, model.ErrNotFound) {
		err = fmt.Errorf(loginCodeMissing, code, model.LoginFor, err)
	}
	return l, err
}

// ApproveLogin lets who made a request that waits fetch a token of this deployment, as
// described. One that waits no more is model.ErrNotFound. Where the person whose token
// it would be has as many tokens, or lets as many programs in, as there may be, it is
// model.ErrConflict or a *model.InvalidError, and the request waits on.
func (tx *Tx) ApproveLogin(ctx context.Context, l model.LoginRequest, token model.Token) error {
	if err := tx.roomForLogin(ctx, token.UserID); err != nil {
		return err
	}
	if l.ByProgram() {
		if err := tx.roomForGrant(ctx, token.UserID); err != nil {
			return err
		}
	}
	token.DeploymentID = tx.Deployment().ID
	image := imageOfToken(token)
	return tx.decideLogin(ctx, l, "login.approve", token, &image)
}

// DenyLogin has who made a request that waits get no token. One that waits no more is
// model.ErrNotFound.
func (tx *Tx) DenyLogin(ctx context.Context, l model.LoginRequest) error {
	return tx.decideLogin(ctx, l, "login.deny", model.Token{}, nil)
}

// decideLogin makes a request that waits one of this deployment.
func (tx *Tx) decideLogin(
	ctx context.Context, l model.LoginRequest, action string, token model.Token, image *tokenImage,
) error {
	n, err := tx.Exec(ctx, `UPDATE login_request SET deployment_id = $1, token_json = $3, approved_json = $4 WHERE `+
		`deployment_id = 0 AND key_hash = $2 AND expires_at > $5`,
		l.KeyHash, sqldb.Encoded(token), sqldb.Encoded(tx.Actor()), tx.Now())
	if err == nil && n == 0 { // somebody else was faster
		err = fmt.Errorf(loginCodeMissing, l.Code, model.LoginFor, model.ErrNotFound)
	}
	if err == nil {
		tx.Audit(action, sqldb.Subject("deployment", tx.Deployment().ID), nil, loginImage{
			l.Code, l.Address, l.Agent, l.Program.Name, image,
		})
	}
	return err
}

// roomForLogin refuses what would be one token too many of a person, once it is
// fetched.
func (tx *Tx) roomForLogin(ctx context.Context, userID int64) error {
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
	return fmt.Errorf("you have as many tokens as one person may have, %d, those included that were promised and did "+
		"not fetch yet: this one would get none. Revoke a token that you do not need, then approve this: %w",
		MaxTokens, model.ErrConflict)
}

// approvedLogins are the requests for a token of a person that were approved, and
// whose token nobody has fetched yet.
func (tx *Tx) approvedLogins(ctx context.Context, userID int64) ([]model.LoginRequest, error) {
	list, err := sqldb.Many(ctx, tx, scanLogin, loginSelect+`WHERE deployment_id = $1 AND expires_at > $2`, tx.Now())
	return slices.DeleteFunc(list, func(l model.LoginRequest) bool { return l.Token.UserID != userID }), err
}

// dropApprovedLogins has scanners that a person let have a token, and that did not
// fetch it yet, get none.
func (tx *Tx) dropApprovedLogins(ctx context.Context, userID int64) error {
	approved, err := tx.approvedLogins(ctx, userID)
	for _, l := range approved {
		if err == nil {
			err = tx.Write(ctx, `DELETE FROM login_request WHERE deployment_id = $1 AND key_hash = $2`, l.KeyHash)
		}
	}
	return err
}

// TakeLogin takes an approved request out, for the one who then makes its token
// in the same transaction. Only the first caller finds it.
func (tx *Tx) TakeLogin(ctx context.Context, keyHash []byte) (model.LoginRequest, error) {
	l, err := sqldb.One(
		ctx, tx, scanLogin, loginSelect+`WHERE deployment_id = $1 AND key_hash = $2 AND expires_at > $3`, keyHash, tx.Now(),
	)
	if err != nil {
		return l, err
	}
	err = tx.Write(ctx, `DELETE FROM login_request WHERE deployment_id = $1 AND key_hash = $2`, keyHash)
	return l, err
}

// Logins lists undecided requests, the oldest first.
func (s *DB) Logins(ctx context.Context) (list []model.LoginRequest, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.Many(
			ctx, q, scanLogin, loginSelect+`WHERE deployment_id = 0 AND expires_at > $1 ORDER BY asked_at, code`, s.Now(),
		)
		return err
	})
	return list, err
}
