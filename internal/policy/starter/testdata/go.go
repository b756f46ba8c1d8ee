package main

import (
	"crypto/tls"
	"database/sql"
	"fmt"
	"html/template"
	"os/exec"
)

func query(db *sql.DB, name string) {
	// ruleid: redoubt-go-sql-from-text
	db.Query(fmt.Sprintf("SELECT * FROM users WHERE name = '%s'", name))
	// ruleid: redoubt-go-sql-from-text
	db.Exec("DELETE FROM users WHERE name = '" + name + "'")
	statement := fmt.Sprintf("DROP TABLE %s", name)
	// ruleid: redoubt-go-sql-from-text
	db.Exec(statement)
	// ok: redoubt-go-sql-from-text
	db.QueryRow("SELECT * FROM users WHERE name = $1", name)
}

func shell(name string) {
	// ruleid: redoubt-go-shell-command
	exec.Command("sh", "-c", "ls "+name)
	// ruleid: redoubt-go-shell-command
	exec.Command("/bin/bash", "-c", name)
	// ok: redoubt-go-shell-command
	exec.Command("sh", "-c", "date | wc")
	// ok: redoubt-go-shell-command
	exec.Command("ls", name)
}

func verify() []*tls.Config {
	// ruleid: redoubt-go-tls-verification-off
	off := &tls.Config{InsecureSkipVerify: true}
	// ok: redoubt-go-tls-verification-off
	on := &tls.Config{MinVersion: tls.VersionTLS12}
	// ruleid: redoubt-go-tls-verification-off
	on.InsecureSkipVerify = true
	return []*tls.Config{off, on}
}

func page(name string) []template.HTML {
	return []template.HTML{
		// ruleid: redoubt-go-html-unescaped
		template.HTML("<b>" + name + "</b>"),
		// ok: redoubt-go-html-unescaped
		template.HTML("<hr>"),
	}
}
