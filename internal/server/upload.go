package server

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/store"
)

// TakeUpload takes in what a person hands in by a form of the pages, as importReports
// does what programs hand in: the same bounds, in one transaction, or nothing. The fields
// of the form are put into said, as far as it was read. The answer is kept for a day under
// the key that comes back, where UploadTaken finds it. What fails is an *api.Problem.
func (s *Server) TakeUpload(w http.ResponseWriter, r *http.Request, caller auth.Caller, said *api.ImportQuery) (key string, err error) {
	c := &call{server: s, w: w, r: r, caller: caller, idempotent: &idempotentRequest{key: uploadKey + rand.Text(), sum: sha256.New()}}
	if _, err := c.importReports(r.Context(), said); err != nil {
		p := problemOf(err)
		return "", errors.Join(&p.Problem, p.cause)
	}
	return c.idempotent.key, nil
}

// uploadKey begins the keys of uploads, which name no other answers.
const uploadKey = "upload-"

// UploadTaken says what became of an upload, by its key. What is not known, or no more, is
// redoubt.ErrNotFound.
func (*Server) UploadTaken(ctx context.Context, tx *store.Tx, key string) (out api.ImportResponse, err error) {
	if !strings.HasPrefix(key, uploadKey) {
		return out, redoubt.ErrNotFound
	}
	before, err := tx.KeptAnswer(ctx, key)
	if err != nil {
		return out, err
	}
	answer, err := unpacked(before.Answer)
	if err != nil {
		return out, err
	}
	return out, json.Unmarshal(answer.Body, &out)
}
