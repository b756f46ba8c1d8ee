// Package ui serves requests for pages: it finds out who looks, runs the handler of a route and renders its template.
// It has what all areas share: sign-in sessions, navigation, forms, error pages, assets and functions of templates.
//
// Pages are rendered by html/template and work without JavaScript for reading; htmx replaces parts of them. The content
// policy allows only what the server itself serves, and nothing inline. Templates escape all text from scanners, and
// links from scanners go through safeURL.
package ui
