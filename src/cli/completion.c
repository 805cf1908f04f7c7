/* SPDX-License-Identifier: MIT */
/* cli/completion.c - completions for bash and zsh, made from the rows of the options.
 *
 * After a command's first operand the shell's own completion of commands takes over, for
 * `dibs run NAME -- CMD`. */
#include <string.h>

#include "cli/help.h"
#include "cli/commands.h"
#include "cli/message.h"
#include "cli/options.h"

/* As in early_options.c. */
static const option_set before_command[] = {
  { options_common, 0 }, { options_connection, 0 }, { NULL, 0 }
};

static const option_set *sets_of(const command *c)
{
  return c->options + c->old_sets;
}

static void write_option_words(const option_set *set)
{
  for (; set->rows != NULL; set++) {
    for (const option_row *row = set->rows; !option_is_end(row); row++) {
      if (!option_is_shown(row))
        continue;
      printf(" --%s", row->name);
      if (row->letter != 0)
        printf(" -%c", row->letter);
    }
  }
}

static void write_command_words(void)
{
  for (const command *const *c = commands; *c != NULL; c++) {
    printf(" %s", (*c)->name);
    if ((*c)->alias != NULL)
      printf(" %s", (*c)->alias);
  }
}

/* Whether what stands after NAME is a command line of its own. */
static bool runs_a_command(const command *c)
{
  return strstr(c->operands, "CMD") != NULL;
}

/* ---- bash ---- */

static const char bash_begin[] =
  "# bash completion of dibs, made by: dibs completion bash\n"
  "_dibs_files()\n"
  "{\n"
  "  local IFS=$'\\n'\n"
  "  compopt -o filenames 2>/dev/null\n"
  "  COMPREPLY=($(compgen -f -- \"$1\"))\n"
  "}\n"
  "_dibs()\n"
  "{\n"
  "  local commands='";

static const char bash_early[] =
  "'\n"
  "  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
  "  local options= operands= runs= i at\n"
  "  COMPREPLY=()\n"
  "  for ((at = 1; at < COMP_CWORD; at++)); do\n"
  "    case ${COMP_WORDS[at-1]} in\n"
  "    =";

static const char bash_command[] =
  ") continue ;;\n"
  "    esac\n"
  "    case \" $commands \" in *\" ${COMP_WORDS[at]} \"*) break ;; esac\n"
  "  done\n"
  "  case $((at < COMP_CWORD)):${COMP_WORDS[at]} in\n"
  "  0:*) operands=\"$commands --help --version\"; options='";

/* A verb is one word only. */
static const char bash_files[] =
  "  esac\n"
  "  for ((i = at + 1; i < COMP_CWORD; i++)); do\n"
  "    case \" $operands \" in *\" ${COMP_WORDS[i]} \"*) operands= ;; esac\n"
  "  done\n"
  "  if [ -n \"$runs\" ]; then\n"
  "    for ((i = at + 1; i < COMP_CWORD; i++)); do\n"
  "      if [ \"${COMP_WORDS[i]}\" = -- ]; then\n"
  "        if [ \"$i\" -eq $((COMP_CWORD - 1)) ]; then\n"
  "          COMPREPLY=($(compgen -c -- \"$word\"))\n"
  "        else\n"
  "          _dibs_files \"$word\"\n"
  "        fi\n"
  "        return\n"
  "      fi\n"
  "    done\n"
  "  fi\n"
  "  case $before in\n"
  "  --config|--cacert|--cert|--key|--pass-file|--status-file|--record|--replay|"
  "--tls-cert|--tls-key)\n"
  "    _dibs_files \"$word\"; return ;;\n";

static const char bash_end[] =
  "  esac\n"
  "  case $word in\n"
  "  -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
  "  *) COMPREPLY=($(compgen -W \"$operands\" -- \"$word\")) ;;\n"
  "  esac\n"
  "}\n"
  "complete -F _dibs dibs\n";

static void write_choices(const option_row *row)
{
  for (const option_choice *w = row->choices; w->word != NULL; w++)
    printf("%s%s", w == row->choices ? "" : " ", w->word);
}

/* The values that an option takes. Options of one name take the same: bash uses the first line. */
static void write_bash_choices(const command *c)
{
  for (const option_set *set = sets_of(c); set->rows != NULL; set++) {
    for (const option_row *row = set->rows; !option_is_end(row); row++) {
      if (!option_is_shown(row) || row->choices == NULL)
        continue;
      printf("  --%s) COMPREPLY=($(compgen -W '", row->name);
      write_choices(row);
      fputs("' -- \"$word\")); return ;;\n", stdout);
    }
  }
}

static void write_bash_command(const command *c)
{
  printf("  1:%s%s%s) options='", c->name, c->alias == NULL ? "" : "|1:",
         c->alias == NULL ? "" : c->alias);
  write_option_words(sets_of(c));
  if (strcmp(c->name, "help") == 0) {
    fputs("'; operands='", stdout);
    write_command_words();
  } else {
    printf("'; operands='%s", c->operand_words == NULL ? "" : c->operand_words);
  }
  printf("'; runs=%s ;;\n", runs_a_command(c) ? "yes" : "");
}

/* Options before the command whose value is the next word. */
static void write_valued(void)
{
  for (const option_set *set = before_command; set->rows != NULL; set++) {
    for (const option_row *row = set->rows; !option_is_end(row); row++) {
      if (!option_is_shown(row) || row->value == NULL)
        continue;
      printf("|--%s", row->name);
      if (row->letter != 0)
        printf("|-%c", row->letter);
    }
  }
}

static void write_bash(void)
{
  fputs(bash_begin, stdout);
  write_command_words();
  fputs(bash_early, stdout);
  write_valued();
  fputs(bash_command, stdout);
  write_option_words(before_command);
  fputs("' ;;\n", stdout);
  for (const command *const *c = commands; *c != NULL; c++)
    write_bash_command(*c);
  fputs(bash_files, stdout);
  for (const command *const *c = commands; *c != NULL; c++)
    write_bash_choices(*c);
  fputs(bash_end, stdout);
}

/* ---- zsh ---- */

/* In a spec of _arguments, brackets, colons and quotes have a meaning. */
static void write_zsh_text(const char *text)
{
  for (; *text != '\0'; text++) {
    if (*text == '\'')
      fputs("'\\''", stdout);
    else if (strchr("[]:\\", *text) != NULL)
      printf("\\%c", *text);
    else
      putchar(*text);
  }
}

/* What may follow the option. */
static void write_zsh_action(const option_row *row)
{
  if (row->choices == NULL) {
    fputs(strcmp(row->value, "FILE") == 0 ? "_files" : " ", stdout);
    return;
  }
  putchar('(');
  write_choices(row);
  putchar(')');
}

static void write_zsh_spec(const char *dashes, const char *name, const option_row *row)
{
  bool is_optional = row->value != NULL && row->value[0] == '[';

  printf("        '%s%s%s[", dashes, name, is_optional ? "=-" : "");
  write_zsh_text(row->help);
  putchar(']');
  if (row->value != NULL) {
    printf("%s:%s:", is_optional ? ":" : "", is_optional ? "DUR" : row->value);
    write_zsh_action(row);
  }
  fputs("' \\\n", stdout);
}

static void write_zsh_options(const option_set *set)
{
  for (; set->rows != NULL; set++) {
    for (const option_row *row = set->rows; !option_is_end(row); row++) {
      char letter[2] = { row->letter, '\0' };

      if (!option_is_shown(row))
        continue;
      write_zsh_spec("--", row->name, row);
      if (row->letter != 0)
        write_zsh_spec("-", letter, row);
    }
  }
}

/* Three colons: _normal gets what is after NAME alone. With two, NAME would be the command. */
static void write_zsh_command(const command *c)
{
  printf("      (%s%s%s)\n      _arguments -S -s \\\n", c->name,
         c->alias == NULL ? "" : "|", c->alias == NULL ? "" : c->alias);
  write_zsh_options(sets_of(c));
  if (strcmp(c->name, "help") == 0) {
    fputs("        '1:command:(", stdout);
    write_command_words();
    fputs(" )'\n", stdout);
  } else if (c->operand_words != NULL) {
    printf("        '1:word:(%s)' %s\n", c->operand_words,
           runs_a_command(c) ? "'2:name: ' '*:::command:_normal'" : "'*:argument: '");
  } else if (runs_a_command(c) && strstr(c->operands, "NAME") != NULL) {
    fputs("        '1:name: ' '*:::command:_normal'\n", stdout);
  } else if (runs_a_command(c)) {
    fputs("        '*:::command:_normal'\n", stdout);
  } else {
    fputs("        '*:argument: '\n", stdout);
  }
  fputs("      ;;\n", stdout);
}

static void write_zsh(void)
{
  fputs("#compdef dibs\n"
        "# zsh completion of dibs, made by: dibs completion zsh\n"
        "_dibs()\n"
        "{\n"
        "  local curcontext=\"$curcontext\" state line\n"
        "  _arguments -C -s -A '-*' \\\n",
        stdout);
  write_zsh_options(before_command);
  fputs("        '1: :->command' '*:: :->rest' && return\n"
        "  case $state in\n"
        "  command)\n"
        "    local -a words_of_dibs\n"
        "    words_of_dibs=(\n",
        stdout);
  for (const command *const *c = commands; *c != NULL; c++) {
    printf("      '%s:", (*c)->name);
    write_zsh_text((*c)->summary);
    fputs("'\n", stdout);
  }
  fputs("    )\n"
        "    _describe command words_of_dibs\n"
        "    ;;\n"
        "  rest)\n"
        "    case $line[1] in\n",
        stdout);
  for (const command *const *c = commands; *c != NULL; c++)
    write_zsh_command(*c);
  fputs("    esac\n"
        "    ;;\n"
        "  esac\n"
        "}\n"
        "_dibs \"$@\"\n",
        stdout);
}

static int completion_run(void *data)
{
  const command_line *line = data;
  char shown[100];

  if (strcmp(line->operands[0], "bash") == 0)
    write_bash();
  else if (strcmp(line->operands[0], "zsh") == 0)
    write_zsh();
  else
    return say_usage("completion", "\"%s\" is not bash or zsh",
                     printable(line->operands[0], shown, sizeof(shown)));
  return CODE_OK;
}

const command completion_command = {
  .name = "completion", .operands = "bash | zsh",
  .summary = "print completions for a shell",
  .operands_min = 1, .operands_max = 1, .operand_words = "bash zsh",
  .examples = { "eval \"$(dibs completion bash)\"",
                "dibs completion bash >/etc/bash_completion.d/dibs",
                "dibs completion zsh >\"${fpath[1]}/_dibs\"" },
  OPTIONS({ OPTIONS_OF_TEXT, 0 }),
  ARGUMENTS(command_line, .operands = NULL),
  .ends_with_reader = true,
  .run = completion_run
};
