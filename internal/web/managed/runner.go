package managed

import (
	"context"
	"net/http"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// runnerRow is a runner in the list.
type runnerRow struct {
	model.Runner
	Online bool  // it sent a request recently
	Run    int64 // current run; 0: none
}

// runnersView is the data of the runners page.
type runnersView struct {
	Rows    []runnerRow
	Address string // of the server, for the example command
	Made    string // the secret of a new token, shown once
	Done    *ui.Message
}

func runners(req *ui.Request) error {
	v := runnersView{Address: req.BaseURL(), Done: ui.DoneMessage(doneManaged, req.HTTP.URL.Query().Get("done"))}
	_, v.Made = req.ShownOnce(ui.RunnersPath)
	now := req.Clock()
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Runners(ctx)
		if err != nil {
			return err
		}
		begun, err := tx.Runs(ctx, store.RunQuery{States: model.RunStatesBegun(), Limit: model.MaxRunners})
		working := map[int64]int64{}
		for _, r := range begun {
			working[r.RunnerID] = r.ID
		}
		for _, r := range list {
			v.Rows = append(v.Rows, runnerRow{r, r.Present(now), working[r.ID]})
		}
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, ui.Page{Template: "runners", Title: "Runners", Section: "runners", Data: v})
}

// runnerTokenLife is the lifetime in days of the tokens that this page creates.
const runnerTokenLife = 365

// makeRunnerToken creates a token whose only scope is running managed scans.
func makeRunnerToken(req *ui.Request) error {
	secret := auth.NewSecret(req.Viewer.Deployment.ID)
	token := model.Token{
		PublicID: secret.PublicID, Name: "runner of " + req.Clock().UTC().Format(time.DateOnly),
		Scopes:  []model.Scope{model.ScopeRunner},
		Dialect: model.DialectContract, ExpiresAt: req.Clock().AddDate(0, 0, runnerTokenLife),
	}
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		owner, err := tx.Member(ctx, req.Viewer.User)
		if err != nil {
			return err
		}
		token.UserID = owner.ID
		token, err = tx.CreateToken(ctx, token, secret.Hash)
		return err
	})
	if err != nil {
		return err
	}
	req.ShowOnce(ui.RunnersPath, token.ID, secret.Text)
	return nil
}

// revokeRunner revokes the token of a runner.
func revokeRunner(req *ui.Request) error {
	err := req.Update(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.RevokeRunner(ctx, req.PathID)
		return err
	})
	return ui.RedirectAfter(req, err, ui.RunnersPath+"?done=runner-revoked")
}
