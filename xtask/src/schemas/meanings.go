// Prints what the comments of constants say: a line for each, with the package and the type, the value and the text.
package main

import (
	"bufio"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

var spaces = regexp.MustCompile(`\s+`)

func main() {
	list := exec.Command("go", "list", "-f", "{{.ImportPath}} {{.Dir}}", "k8s.io/api/...", "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1")
	list.Stderr = os.Stderr
	output, err := list.Output()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var lines []string
	for _, line := range strings.Split(strings.TrimSpace(string(output)), "\n") {
		path, folder, _ := strings.Cut(line, " ")
		if !strings.HasSuffix(path, "/v1") {
			continue
		}
		published := strings.ReplaceAll(strings.Replace(path, "k8s.io", "io.k8s", 1), "/", ".")
		files, _ := filepath.Glob(filepath.Join(folder, "*.go"))
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				lines = append(lines, constants(published, file)...)
			}
		}
	}
	sort.Strings(lines)
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	for _, line := range lines {
		fmt.Fprintln(out, line)
	}
}

func constants(published, file string) []string {
	tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var lines []string
	for _, declaration := range tree.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, specification := range group.Specs {
			constant := specification.(*ast.ValueSpec)
			for i, value := range constant.Values {
				held, text, ok := typed(constant.Type, value)
				told := constant.Doc
				if told == nil && !group.Lparen.IsValid() {
					told = group.Doc
				}
				if !ok || told == nil {
					continue
				}
				meaning := strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(told.Text()), constant.Names[i].Name))
				lines = append(lines, fmt.Sprintf("%s %s\t%s\t%s", published, held, text, spaces.ReplaceAllString(meaning, " ")))
			}
		}
	}
	return lines
}

// The name of a constant's type and its text: `X T = "text"`, `X = T("text")` or `X T = T(other.Name)`, whose name
// stands for its text.
func typed(held, value ast.Expr) (string, string, bool) {
	if call, ok := value.(*ast.CallExpr); ok && len(call.Args) == 1 {
		held, value = call.Fun, call.Args[0]
	}
	name, ok := held.(*ast.Ident)
	if !ok {
		return "", "", false
	}
	switch value := value.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(value.Value)
		return name.Name, text, err == nil
	case *ast.SelectorExpr:
		return name.Name, strings.TrimSuffix(value.Sel.Name, "Protocol"), true
	}
	return "", "", false
}
