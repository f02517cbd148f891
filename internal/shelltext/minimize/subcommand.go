package minimize

import (
	"slices"
	"strings"
)

// valued maps programs to the flags before a subcommand that take a separate value. All
// other words that begin with - or + are flags without one.
func valued() map[string][]string {
	return map[string][]string{
		"git":            {"-C", "-c", "--git-dir", "--work-tree", "--namespace", "--exec-path", "--super-prefix", "--config-env"},
		"gt":             {"--cwd", "--repo", "--config"},
		"gh":             {"-R", "--repo", "--hostname"},
		"cargo":          {"-C", "--config", "-Z", "--color", "--manifest-path", "--target-dir", "-j", "--jobs"},
		"go":             {"-C"},
		"npm":            {"--prefix", "-C", "-w", "--workspace", "--userconfig", "--globalconfig", "--cache", "--registry", "--loglevel"},
		"npx":            {"-p", "--package", "-c", "--call", "-w", "--workspace", "--prefix", "--registry", "--cache"},
		"pnpm":           {"-C", "--dir", "-F", "--filter", "--config", "--store-dir", "--loglevel", "--reporter"},
		"yarn":           {"--cwd", "--cache-folder", "--modules-folder", "--mutex", "--registry"},
		"bun":            {"--cwd", "-c", "--config", "--registry", "--cache-dir"},
		"docker":         {"--config", "--context", "-c", "-H", "--host", "-l", "--log-level", "--tlscacert", "--tlscert", "--tlskey"},
		"docker-compose": {"-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory", "--ansi", "--progress", "--parallel"},
		"kubectl":        {"-n", "--namespace", "--context", "--kubeconfig", "--cluster", "--user", "-s", "--server", "--as", "--as-group", "--token", "--request-timeout"},
		"helm":           {"-n", "--namespace", "--kube-context", "--kubeconfig", "--registry-config", "--repository-cache", "--repository-config"},
		"pip":            {"--python", "--log", "--proxy", "--retries", "--timeout", "--exists-action", "--trusted-host", "--cert", "--client-cert", "--cache-dir"},
		"uv":             {"--directory", "--project", "--cache-dir", "--config-file", "--color", "-p", "--python", "--allow-insecure-host"},
		"poetry":         {"-C", "--directory", "-P", "--project"},
		"bundle":         {"--gemfile", "-r", "--retry"},
		"composer":       {"-d", "--working-dir"},
		"aws":            {"--profile", "--region", "--output", "--endpoint-url", "--query", "--color", "--ca-bundle", "--cli-read-timeout", "--cli-connect-timeout", "--cli-binary-format"},
		"dotnet":         {"--additionalprobingpath", "--additional-deps", "--depsfile", "--fx-version", "--roll-forward", "--runtimeconfig"},
		"mvn":            {"-f", "--file", "-P", "--activate-profiles", "-pl", "--projects", "-s", "--settings", "-T", "--threads", "-l", "--log-file"},
		"gradle":         {"-p", "--project-dir", "-b", "--build-file", "-c", "--settings-file", "-g", "--gradle-user-home", "-I", "--init-script", "--console"},
		"golangci-lint":  {"-c", "--config", "--color", "-j", "--concurrency"},
		"python":         {"-W", "-X", "-Q"},
		"rake":           {"-f", "--rakefile", "-I", "-r", "-j"},
		"ruff":           {"--config"},
		"biome":          {"--config-path", "--colors"},
	}
}

// sameFlags maps programs to another one with the same flags and filters.
func sameFlags() map[string]string {
	return map[string]string{
		"yadm": "git", "pip3": "pip", "python3": "python", "uvx": "uv", "bunx": "npx",
		"gradlew": "gradle", "mvnw": "mvn",
	}
}

// subcommandAt returns the index of the subcommand in args, -1 if there is none.
func subcommandAt(program string, args []string) int {
	if same, ok := sameFlags()[program]; ok {
		program = same
	}
	flags := valued()[program]
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "--":
			if i+1 < len(args) {
				return i + 1
			}
			return -1
		case program == "python" && arg == "-c":
			return -1 // the rest is the script's
		case slices.Contains(flags, arg):
			i++
		case strings.HasPrefix(arg, "-") || program == "cargo" && strings.HasPrefix(arg, "+"):
		default:
			return i
		}
	}
	return -1
}
