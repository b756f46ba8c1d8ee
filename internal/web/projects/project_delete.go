package projects

import (
	"context"
	"net/http"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// projectDeletePage is the confirmation page for deleting a project, with the effect.
type projectDeletePage struct {
	model.Project
	store.ProjectHolding
	Fault string
}

// confirmDeleteProject shows the confirmation page for deleting a project.
func confirmDeleteProject(req *ui.Request) error {
	return showDeleteProject(req, http.StatusOK, "")
}

func showDeleteProject(req *ui.Request, status int, fault string) error {
	p := &projectDeletePage{Fault: fault}
	err := req.View(func(ctx context.Context, tx *store.Tx) (err error) {
		if p.Project, err = tx.Project(ctx, req.PathID); err != nil {
			return err
		}
		p.ProjectHolding, err = tx.ProjectHolding(ctx, req.PathID)
		return err
	})
	if err != nil {
		return err
	}
	return req.Show(status, ui.Page{Template: "project_delete", Title: "Delete " + p.Name, Section: "projects", Data: p})
}

// deleteProject deletes a project if its name was entered.
func deleteProject(req *ui.Request) error {
	meant, err := ui.DeleteNamed(req, func(ctx context.Context, tx *store.Tx, id int64) (string, error) {
		p, err := tx.Project(ctx, id)
		return p.Name, err
	}, (*store.Tx).DeleteProject)
	switch {
	case err != nil:
		return err
	case !meant:
		return showDeleteProject(req,
			http.StatusBadRequest, "Nothing was deleted: enter the project name as shown above.",
		)
	}
	req.Redirect(req.To("/projects?deleted=1"))
	return nil
}
