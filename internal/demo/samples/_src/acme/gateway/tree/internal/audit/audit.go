// Package audit remembers who called what.
package audit

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
)

// DB is where the calls are kept.
var DB *sql.DB

// Calls lists the calls of one user.
func Calls(w http.ResponseWriter, r *http.Request) {
	query := fmt.Sprintf("SELECT path FROM call WHERE caller = '%s'", r.URL.Query().Get("user"))
	rows, err := DB.QueryContext(r.Context(), query)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	defer rows.Close()
	var paths []string
	for rows.Next() {
		var p string
		if err := rows.Scan(&p); err != nil {
			return
		}
		paths = append(paths, p)
	}
	_ = json.NewEncoder(w).Encode(paths)
}
