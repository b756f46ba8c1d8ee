package web

import (
	"context"
	"net/http"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// projectDeletePage asks whether a project shall go, and says what goes with it.
type projectDeletePage struct {
	model.Project
	store.ProjectHolding
	Fault string
}

// askDeleteProject counts what would go with a project.
func askDeleteProject(req *request) error {
	return askDeleteProjectWith(req, http.StatusOK, "")
}

func askDeleteProjectWith(req *request, status int, fault string) error {
	p := &projectDeletePage{Fault: fault}
	err := req.view(func(ctx context.Context, tx *store.Tx) (err error) {
		if p.Project, err = tx.Project(ctx, req.pathID); err != nil {
			return err
		}
		p.ProjectHolding, err = tx.ProjectHolding(ctx, req.pathID)
		return err
	})
	if err != nil {
		return err
	}
	return req.show(status, pageView{Template: "project_delete", Title: "Delete " + p.Name, Section: "projects", Data: p})
}

// deleteProject deletes a project for whom it was named by.
func deleteProject(req *request) error {
	meant, err := deleteNamed(req, func(ctx context.Context, tx *store.Tx, id int64) (string, error) {
		p, err := tx.Project(ctx, id)
		return p.Name, err
	}, (*store.Tx).DeleteProject)
	switch {
	case err != nil:
		return err
	case !meant:
		return askDeleteProjectWith(req,
			http.StatusBadRequest, "Nothing was deleted: type the project’s name as it stands above.",
		)
	}
	req.redirect(req.to("/projects?deleted=1"))
	return nil
}
