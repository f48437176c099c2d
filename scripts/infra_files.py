"""infra/http.yml and infra/roles.yml, made from the route table."""

from queuelog_core.http.routes import GROUPS, routes_of

MADE = "# Generated from queuelog_core/http/routes.py by `make generate`; do not edit.\n"
RESERVED = "${file(infra/concurrency.yml):${param:concurrency}.mounting, null}"
MOUNTING = ("vpc", "fileSystemConfig", "dependsOn")
# The actions on network interfaces are those with which Lambda attaches a function to the network;
# IAM cannot narrow them to a resource.
ROLE = """  {name}Role:
    Type: AWS::IAM::Role
    Properties:
      AssumeRolePolicyDocument:
        Version: '2012-10-17'
        Statement:
          - Effect: Allow
            Principal: {{ Service: lambda.amazonaws.com }}
            Action: sts:AssumeRole
      Policies:
        - PolicyName: {function}
          PolicyDocument:
            Version: '2012-10-17'
            Statement:
              - Effect: Allow
                Action: [logs:CreateLogStream, logs:PutLogEvents]
                Resource:
                  Fn::Sub: "arn:${{AWS::Partition}}:logs:${{AWS::Region}}:${{AWS::AccountId}}:\\
                    log-group:/aws/lambda/queuelog-${{sls:stage}}-{function}:*"
              - Effect: Allow
                Action: [elasticfilesystem:ClientMount, elasticfilesystem:ClientWrite]
                Resource: {{ 'Fn::GetAtt': [FileSystem, Arn] }}
                Condition:
                  StringEquals:
                    elasticfilesystem:AccessPointArn: {{ 'Fn::GetAtt': [AccessPoint, Arn] }}
              - Effect: Allow
                Action:
                  - ec2:AssignPrivateIpAddresses
                  - ec2:CreateNetworkInterface
                  - ec2:DeleteNetworkInterface
                  - ec2:DescribeNetworkInterfaces
                  - ec2:DescribeSubnets
                  - ec2:UnassignPrivateIpAddresses
                Resource: '*'
"""


def http_yml_text() -> str:
    """The functions behind routes: one per group, its routes in the order of the table."""
    lines = [MADE.rstrip()]
    for group in GROUPS:
        lines += [f"{group}:", f"  handler: functions/{group}.handler"]
        lines += [f"  role: {group.capitalize()}Role", f"  reservedConcurrency: {RESERVED}"]
        lines += [f"  {name}: ${{file(infra/sqlite.yml):mounting.{name}}}" for name in MOUNTING]
        lines += ["  events:"]
        for route in routes_of(group):
            lines += [
                "    - httpApi:",
                f"        method: {route.method}",
                f"        path: {route.path}",
            ]
            if route.authorizer is not None:
                lines += ["        authorizer:", f"          name: {route.authorizer}"]
    return "\n".join(lines) + "\n"


def roles_yml_text() -> str:
    """A role for each function that mounts the volume: its own log, the volume, the network."""
    roles = [ROLE.format(name=name.capitalize(), function=name) for name in (*GROUPS, "maintain")]
    return MADE + "Resources:\n" + "".join(roles)
