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

// How often a program may ask whether it was let in. It is told to ask every
// pollEvery; what comes early by a little, as networks have it, is no fault.
const (
	pollEvery      = 3 * time.Second
	pollsPerSecond = 0.5
	pollsAtOnce    = 3
)

// maxAgent bounds what is kept of a program's User-Agent, in bytes.
const maxAgent = 200

// authorizeDevice begins the device flow: a code for the program to ask with, and one
// for the person to see it by. Anybody may, so what waits is bounded as scanners are.
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
	kept, err := s.Store.AddLogin(r.Context(), model.LoginRequest{
		KeyHash: core.Hash(code), Code: userCode, Address: origin.Address,
		Agent: model.CutBytes(model.Line(strings.ToValidUTF8(r.UserAgent(), "")), maxAgent),
		Program: model.LoginProgram{
			ClientHash: core.Hash(wish.Client.ID), Name: wish.Client.Name, Resource: wish.Resource, Write: wish.Write,
		},
	})
	if err != nil {
		return err
	}
	if !kept {
		return &httpx.BusyError{
			Wait: time.Minute,
			Text: "Too many programs wait to be let in. Try again in some minutes, or use a token that is made by hand.",
		}
	}
	page := origin.Base + DevicePath
	return reply(w, http.StatusOK, map[string]any{
		"device_code": code, "user_code": userCode, "verification_uri": page,
		"verification_uri_complete": page + "?code=" + url.QueryEscape(userCode),
		"expires_in":                int64(model.LoginFor.Seconds()), "interval": int64(pollEvery.Seconds()),
	})
}

// Answers of RFC 8628 §3.5.
var (
	errPending = &core.Error{Code: "authorization_pending", Text: "nobody has let the program in yet"}
	errSlower  = &core.Error{Code: "slow_down", Text: "the program asks too often"}
	errDenied  = &core.Error{Code: "access_denied", Text: "the person did not let the program in"}
	errExpired = &core.Error{
		Code: "expired_token",
		Text: "the device code is over, was used already, or had to make room: begin again",
	}
)

// exchangeDevice gives the token of a device code, once, after a person let the
// program in.
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
	out, err := s.handDevice(r, waiting, clientID)
	if errors.Is(err, model.ErrNotFound) { // two asked at once
		err = errExpired
	}
	return out, err
}

// handDevice makes the token of a program that was let in, for the first who asks.
func (s *Server) handDevice(r *http.Request, waiting model.LoginRequest, clientID string) (out *issued, err error) {
	err = s.Store.Update(r.Context(), waiting.DeploymentID, waiting.ApprovedBy,
		func(ctx context.Context, tx *store.Tx) error {
			taken, err := tx.TakeLogin(ctx, waiting.KeyHash)
			if err != nil {
				return err
			}
			g := model.OAuthGrant{
				CodeHash:   taken.KeyHash,
				ClientHash: taken.Program.ClientHash,
				Resource:   taken.Program.Resource,
				Token:      taken.Token,
			}
			if err := tx.AddDeviceGrant(ctx, g); err != nil {
				return err
			}
			out, err = s.first(ctx, tx, r, g, clientID)
			return err
		})
	return out, err
}

// first makes the first token of a grant.
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
