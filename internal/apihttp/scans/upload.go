package scans

import (
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/store"
)

// Uploads accepts uploads by a form of the web pages.
type Uploads struct{ Server *core.Server }

// ImportUpload imports the files of a form on the web pages like importReports: with the same
// limits, in one transaction. The fields of the form that were read are stored in query. A summary
// of the response is stored for a day; UploadResult returns it for the key. Errors are an
// *api.Problem.
func (u Uploads) ImportUpload(
	w http.ResponseWriter, r *http.Request, caller auth.Caller, query *api.ImportQuery,
) (key string, err error) {
	key = rand.Text()
	c := core.NewCall(u.Server, w, r, caller, uploadKey+key)
	c.Idempotent.Store(func(out any) any { return summaryOf(out.(*api.ImportResponse)) }, nil)
	if _, err := importReports(r.Context(), c, query); err != nil {
		p := core.ProblemOf(err)
		return "", errors.Join(&p.Problem, p.Cause)
	}
	return key, nil
}

// uploadKey is the prefix of the keys of uploads. It ends with a space, which keys of requests
// cannot contain, so that the two never collide.
const uploadKey = "upload "

// uploadSummary is the stored summary of an upload. It has the number of findings instead of each
// finding, of which there may be a million.
type uploadSummary struct {
	api.ImportResponse
	Advised []int `json:"advised"` // changed findings of advisories, by import
}

func summaryOf(out *api.ImportResponse) *uploadSummary {
	short := &uploadSummary{ImportResponse: *out, Advised: make([]int, len(out.Imports))}
	short.Gate.Blocking, short.Gate.Noted = nil, nil
	short.Imports = slices.Clone(out.Imports)
	for i := range short.Imports {
		one := &short.Imports[i]
		short.Advised[i] = len(one.Advised)
		one.Items, one.Advised = nil, nil
	}
	return short
}

// UploadResult returns the result of an upload by its key, without its findings. It also returns
// the number of changed findings of advisories, by import. Unknown and expired keys return
// model.ErrNotFound.
func (Uploads) UploadResult(ctx context.Context, tx *store.Tx, key string) (api.ImportResponse, []int, error) {
	before, err := tx.StoredAnswer(ctx, uploadKey+key)
	if err != nil {
		return api.ImportResponse{}, nil, err
	}
	var out uploadSummary
	err = core.StoredAnswer(before.Answer, &out)
	return out.ImportResponse, out.Advised, err
}
