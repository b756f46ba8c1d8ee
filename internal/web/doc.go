// Package web is the pages: what people see in a browser. It is an adapter, as
// the Web API is one: it reads from index and store, decides through triage,
// and holds no rule of its own.
//
// Pages are rendered by html/template on the server and work without
// JavaScript for reading; htmx swaps parts of them where it is there. Nothing
// comes from elsewhere and nothing runs inline, which the content policy of
// every answer says to the browser. All text from scanners goes through the
// templates' escaping, and links of theirs through safeURL.
//
// routes.go is the table of all pages. It asks who is looking through Viewers
// and never knows how somebody signed in.
package web
