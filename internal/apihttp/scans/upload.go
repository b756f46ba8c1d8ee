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

// Uploads accepts uploads by a form of the pages.
type Uploads struct{ Server *core.Server }

// TakeUpload takes in what a person hands in by a form of the pages, as importReports
// does what programs hand in: the same bounds, in one transaction, or nothing. The fields
// of the form are put into said, as far as it was read. What the page shows of the answer is
// kept for a day under the key that comes back, where UploadTaken finds it. What fails is an *api.Problem.
func (u Uploads) TakeUpload(
	w http.ResponseWriter, r *http.Request, caller auth.Caller, said *api.ImportQuery,
) (key string, err error) {
	key = rand.Text()
	c := core.NewCall(u.Server, w, r, caller, uploadKey+key)
	c.Idempotent.Store(func(out any) any { return summaryOf(out.(*api.ImportResponse)) }, nil)
	if _, err := importReports(r.Context(), c, said); err != nil {
		p := core.ProblemOf(err)
		return "", errors.Join(&p.Problem, p.Cause)
	}
	return key, nil
}

// uploadKey begins the keys of uploads. It ends with what no key of a request has, so that
// these name no answers of the Web API, nor the other way around.
const uploadKey = "upload "

// uploadSummary is what is kept of an upload: not each finding, of which there may be a
// million, but how many.
type uploadSummary struct {
	api.ImportResponse
	Advised []int `json:"advised"` // findings of the advisories that changed, of each import
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

// UploadTaken says what became of an upload, by its key, without its findings; and of each
// import, how many findings of the advisories changed. What is not known, or no more, is
// model.ErrNotFound.
func (Uploads) UploadTaken(ctx context.Context, tx *store.Tx, key string) (api.ImportResponse, []int, error) {
	before, err := tx.KeptAnswer(ctx, uploadKey+key)
	if err != nil {
		return api.ImportResponse{}, nil, err
	}
	var out uploadSummary
	err = core.StoredAnswer(before.Answer, &out)
	return out.ImportResponse, out.Advised, err
}
