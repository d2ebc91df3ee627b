// The page that the chat's view loads: one script and one style sheet of the extension, and nothing else.

import { randomBytes } from 'node:crypto';
import * as vscode from 'vscode';

export function html(webview: vscode.Webview, dist: vscode.Uri): string {
  const nonce = randomBytes(18).toString('base64');
  const uri = (name: string): string => webview.asWebviewUri(vscode.Uri.joinPath(dist, name)).toString();
  const policy = [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    `style-src ${webview.cspSource}`,
    `font-src ${webview.cspSource}`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="UTF-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Plimsoll</title>
<link rel="stylesheet" href="${uri('webview.css')}">
</head>
<body>
<div id="app"></div>
<script nonce="${nonce}" src="${uri('webview.js')}"></script>
</body>
</html>`;
}
