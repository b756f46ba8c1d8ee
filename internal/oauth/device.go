package oauth

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	core "github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Limits of polling for a decision. The server sends pollEvery to clients; the rate limit tolerates
// requests that arrive slightly early.
const (
	pollEvery      = 3 * time.Second
	pollsPerSecond = 0.5
	pollsAtOnce    = 3
)

// maxAgent limits the stored bytes of a program's User-Agent.
const maxAgent = 200

// authorizeDevice starts the device flow. It returns a code with which the program polls, and one
// that the user enters. It needs no authentication, so the number of waiting requests is limited.
func (s *Server) authorizeDevice(w http.ResponseWriter, r *http.Request) error {
	if err := form(w, r); err != nil {
		return refuse(w, err)
	}
	origin := httpx.OriginOf(r)
	wish, err := s.Keys.DeviceRequest(r.PostForm, origin.Base, s.Clock())
	if refused, is := errors.AsType[*core.Error](err); is {
		return refuse(w, refused)
	}
	if err != nil {
		return err
	}
	code := s.Keys.NewDeviceCode(s.Clock().Add(model.LoginFor))
	userCode := auth.LoginCode(s.Keys()[0], code)
	stored, err := s.Store.AddLogin(r.Context(), model.LoginRequest{
		KeyHash: core.Hash(code), Code: userCode, Address: origin.Address,
		Agent: model.CutBytes(model.Line(strings.ToValidUTF8(r.UserAgent(), "")), maxAgent),
		Program: model.LoginProgram{
			ClientHash: core.Hash(wish.Client.ID), Name: wish.Client.Name, Resource: wish.Resource, Write: wish.Write,
		},
	})
	if err != nil {
		return err
	}
	if !stored {
		return &httpx.BusyError{
			Wait: time.Minute,
			Text: "Too many authorizations are pending. Retry in a few minutes, or use a token created on the tokens page.",
		}
	}
	page := origin.Base + DevicePath
	return reply(w, http.StatusOK, map[string]any{
		"device_code": code, "user_code": userCode, "verification_uri": page,
		"verification_uri_complete": page + "?code=" + url.QueryEscape(userCode),
		"expires_in":                int64(model.LoginFor.Seconds()), "interval": int64(pollEvery.Seconds()),
	})
}

// Responses of RFC 8628 §3.5.
var (
	errPending = &core.Error{Code: "authorization_pending", Text: "the authorization is pending"}
	errSlower  = &core.Error{Code: "slow_down", Text: "too many requests: increase the polling interval"}
	errDenied  = &core.Error{Code: "access_denied", Text: "the user denied access"}
	errExpired = &core.Error{
		Code: "expired_token",
		Text: "the device code has expired, was used or was evicted: start again",
	}
)

// exchangeDevice returns the token of a device code once after a user approved the program.
func (s *Server) exchangeDevice(r *http.Request, clientID string) (*issued, error) {
	code := r.PostForm.Get("device_code")
	until, ok := s.Keys.DeviceCode(code)
	switch {
	case !ok:
		return nil, errGrant
	case !s.Clock().Before(until):
		return nil, errExpired
	}
	waiting, err := s.Store.LoginByKey(r.Context(), core.Hash(code))
	switch {
	case errors.Is(err, model.ErrNotFound):
		return nil, errExpired
	case err != nil:
		return nil, err
	case !bytes.Equal(waiting.Program.ClientHash, core.Hash(clientID)):
		return nil, errGrant
	case !s.polls.Allow(hex.EncodeToString(waiting.KeyHash)).OK:
		return nil, errSlower
	case waiting.Denied():
		return nil, errDenied
	case !waiting.Approved():
		return nil, errPending
	}
	out, err := s.issueDeviceToken(r, waiting, clientID)
	if errors.Is(err, model.ErrNotFound) { // two concurrent requests
		err = errExpired
	}
	return out, err
}

// issueDeviceToken creates the token of an approved program for the first request.
func (s *Server) issueDeviceToken(
	r *http.Request, waiting model.LoginRequest, clientID string,
) (out *issued, err error) {
	err = s.Store.Update(r.Context(), waiting.DeploymentID, waiting.ApprovedBy,
		func(ctx context.Context, tx *store.Tx) error {
			claimed, err := tx.ConsumeLogin(ctx, waiting.KeyHash)
			if err != nil {
				return err
			}
			g := model.OAuthGrant{
				CodeHash:   claimed.KeyHash,
				ClientHash: claimed.Program.ClientHash,
				Resource:   claimed.Program.Resource,
				Token:      claimed.Token,
			}
			if err := tx.AddDeviceGrant(ctx, g); err != nil {
				return err
			}
			out, err = s.first(ctx, tx, r, g, clientID)
			return err
		})
	return out, err
}

// first creates the first token of a grant.
func (s *Server) first(
	ctx context.Context, tx *store.Tx, r *http.Request, g model.OAuthGrant, clientID string,
) (*issued, error) {
	g.Token.DeploymentID, g.Token.PublicID, g.Token.ExpiresAt = tx.Deployment().ID, auth.NewPublicID(), s.Clock().Add(
		model.OAuthAccessFor,
	)
	access, err := s.Keys.NewAccess(httpx.OriginOf(r).Base, clientID, g.Resource, g.Token, s.Clock())
	if err != nil {
		return nil, err
	}
	made, err := tx.CreateToken(ctx, g.Token, core.Hash(access))
	if err != nil {
		return nil, err
	}
	return s.issue(ctx, tx, g, made, access)
}
